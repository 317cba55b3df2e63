import equinox as eqx


class AbstractFormulation(eqx.Module):
    pass
