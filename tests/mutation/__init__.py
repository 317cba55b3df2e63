"""Mutation testing of the parts that decide whether an answer is right: kernel, operators, drift,
start and checks.

    make mutation                       a random sample of mutants, seed and survivors printed
    python -m tests.mutation --count 400 --seed 7 --only start

A mutant is the library with one operator, number, condition or statement changed. It is killed if
the fast tests of its group fail. Tests of a group are chosen so that no mutant costs more than a
few seconds: they evaluate small arrays or one small model, whose compiled functions stay the same
whatever is mutated.

| file | what |
|---|---|
| `mutants.py` | which changes are made to a syntax tree |
| `groups.py` | which files are mutated, and which tests have to notice |
| `__main__.py` | runs them, each in a process of its own, and reports |
"""
