"""The table: every op and composite with its spec."""

from lumus.testing.op_spec import OpSpec
from tests.conformance.specs import (
    activations,
    attention,
    cast,
    compare,
    conv,
    create,
    elementwise,
    embedding,
    in_place,
    index,
    linalg,
    loss,
    matrices,
    pool,
    random,
    recurrent,
    reduce,
    scan,
    shape,
    sort,
    special,
    statistics,
)

SPECS: tuple[OpSpec, ...] = (
    *elementwise.SPECS,
    *activations.SPECS,
    *special.SPECS,
    *compare.SPECS,
    *cast.SPECS,
    *reduce.SPECS,
    *scan.SPECS,
    *shape.SPECS,
    *sort.SPECS,
    *index.SPECS,
    *linalg.SPECS,
    *conv.SPECS,
    *matrices.SPECS,
    *create.SPECS,
    *in_place.SPECS,
    *random.SPECS,
    *loss.SPECS,
    *statistics.SPECS,
    *attention.SPECS,
    *embedding.SPECS,
    *recurrent.SPECS,
    *pool.SPECS,
)
DIFFERENTIABLE = tuple(spec for spec in SPECS if spec.differentiable)
EDGES = tuple((spec, edge) for spec in SPECS for edge in spec.edges)
