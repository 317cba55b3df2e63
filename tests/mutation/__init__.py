"""Mutation testing of the parts that determine the correctness of results: kernel, operators,
drift, start and checks.

    make mutation                       a random sample of mutants, seed and survivors printed
    python -m tests.mutation --count 400 --seed 7 --only start

A mutant is the library with one operator, number, condition or statement changed. It is killed if
the fast tests of its group fail. Tests of a group are chosen so that no mutant costs more than a
few seconds: they evaluate small arrays or one small model, whose compiled functions do not depend
on the mutation.

| file | what |
|---|---|
| `mutants.py` | the changes of a syntax tree |
| `groups.py` | the mutated files, and the tests that must fail |
| `__main__.py` | runs the mutants, each in a separate process, and reports |
"""
