"""The scalar expression language: elementwise ops, their derivatives and updates are written in it.

An expression is written once, as a Python lambda (`expressions`), with the closed table of
functions (`functions`). From it come the CPU program (`program`), the derivatives of every order
(`tangent`) and the text (`printer`).
"""
