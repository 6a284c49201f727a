"""The update rules once more, in NumPy float64, as the tests' oracle."""

import numpy as np


def sgd(lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    buffers = {}

    def step(key, p, g):
        d = g + weight_decay * p
        if momentum:
            if key in buffers:
                buffers[key] = momentum * buffers[key] + (1 - dampening) * d
            else:
                buffers[key] = d.copy()
            d = d + momentum * buffers[key] if nesterov else buffers[key]
        return p - lr * d

    return step


def adam(lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, *, decoupled=False):
    moments = {}
    beta1, beta2 = betas

    def step(key, p, g):
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        t, m, v = moments.get(key, (0, np.zeros_like(p), np.zeros_like(p)))
        t, m, v = t + 1, beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        moments[key] = t, m, v
        m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
        return p - lr * m_hat / (np.sqrt(v_hat) + eps)

    return step


def adamw(lr, weight_decay=0.01, **options):
    return adam(lr, weight_decay=weight_decay, decoupled=True, **options)
