"""Results of other programs, of textbooks and of papers, beside ours: what the page `Verification`
of the documentation shows.

    python -m verification chrono --data FOLDER      # a clone of projectchrono/chrono
    python -m verification modelica --data FOLDER    # one of modelica/MAP-LIB_ReferenceResults
    python -m verification siconos --data FOLDER     # one of siconos/siconos-tutorials
    python -m verification robots --data FOLDER      # any folder with robot files
    python -m verification legs --data FOLDER        # one of newton-physics/newton-assets
    python -m verification review                    # a paper, as `zwang reproduce` judges it
    python -m verification exact                     # members of the gallery with a closed form

Each command recomputes a whole suite, prints its lines, and writes them into
`docs/verification.json`, from which the page is made; nothing on that page is typed in. Data of
other projects is not part of this repository: the reader fetches it, as the page says.

| file | what |
|---|---|
| `line.py` | one line of the page, and the file that keeps all of them |
| `chrono.py` | the joint tests of Project Chrono against ADAMS |
| `modelica/` | mechanisms of the Modelica Standard Library against Dymola |
| `siconos/` | examples of Siconos with impacts |
| `robots.py` | robot files beside MuJoCo and Pinocchio |
| `legs.py` | a robot with closed loops whose motors reach their limit |
| `by_hand.py` | equations that share nothing with zwang, to say whose a difference is |
| `own.py` | papers and closed forms |
"""
