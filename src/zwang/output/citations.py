"""BibTeX entries of the methods that a run used."""

from __future__ import annotations

import re

from zwang.errors import ModelError
from zwang.inputs.call import misfits_named
from zwang.simulation.results import Run
from zwang.version import __version__

SOFTWARE, EQUATION = "zwang", "udwadia1992"
"""Cited for every run: this library, and the equation that it solves."""

ENTRIES = {
    "zwang": (
        "software",
        {"author": "{The zwang developers}", "title": "{zwang}", "license": "Apache-2.0"},
    ),
    "udwadia1992": (
        "article",
        {
            "author": "Udwadia, Firdaus E. and Kalaba, Robert E.",
            "title": "A new perspective on constrained motion",
            "journal": "Proc. R. Soc. Lond. A",
            "volume": "439",
            "pages": "407--410",
            "year": "1992",
            "doi": "10.1098/rspa.1992.0158",
        },
    ),
    "udwadia2006": (
        "article",
        {
            "author": "Udwadia, Firdaus E. and Phohomsiri, Phailaung",
            "title": "Explicit equations of motion for constrained mechanical systems with "
            "singular mass matrices and applications to multi-body dynamics",
            "journal": "Proc. R. Soc. A",
            "volume": "462",
            "pages": "2097--2117",
            "year": "2006",
            "doi": "10.1098/rspa.2006.1662",
        },
    ),
    "campbell1979": (
        "book",
        {
            "author": "Campbell, Stephen L. and Meyer, Carl D.",
            "title": "Generalized Inverses of Linear Transformations",
            "publisher": "Pitman",
            "year": "1979",
        },
    ),
    "orsino2017": (
        "article",
        {
            "author": "Orsino, Renato Maia Matarazzo",
            "title": "Recursive modular modelling methodology for lumped-parameter dynamic systems",
            "journal": "Proc. R. Soc. A",
            "volume": "473",
            "year": "2017",
            "doi": "10.1098/rspa.2016.0891",
        },
    ),
    "moreau1999": (
        "article",
        {
            "author": "Moreau, J. J.",
            "title": "Numerical aspects of the sweeping process",
            "journal": "Comput. Methods Appl. Mech. Eng.",
            "volume": "177",
            "pages": "329--349",
            "year": "1999",
            "doi": "10.1016/S0045-7825(98)00387-9",
        },
    ),
    "jean1999": (
        "article",
        {
            "author": "Jean, M.",
            "title": "The non-smooth contact dynamics method",
            "journal": "Comput. Methods Appl. Mech. Eng.",
            "volume": "177",
            "pages": "235--257",
            "year": "1999",
            "doi": "10.1016/S0045-7825(98)00383-1",
        },
    ),
    "prince1981": (
        "article",
        {
            "author": "Prince, P. J. and Dormand, J. R.",
            "title": "High order embedded {Runge-Kutta} formulae",
            "journal": "J. Comput. Appl. Math.",
            "volume": "7",
            "pages": "67--75",
            "year": "1981",
            "doi": "10.1016/0771-050X(81)90010-3",
        },
    ),
    "tsitouras2011": (
        "article",
        {
            "author": "Tsitouras, Ch.",
            "title": "{Runge-Kutta} pairs of order 5(4) satisfying only the first column "
            "simplifying assumption",
            "journal": "Comput. Math. Appl.",
            "volume": "62",
            "pages": "770--775",
            "year": "2011",
            "doi": "10.1016/j.camwa.2011.06.002",
        },
    ),
    "kvaerno2004": (
        "article",
        {
            "author": "Kv{\\ae}rn{\\o}, Anne",
            "title": "Singly diagonally implicit {Runge-Kutta} methods with an explicit first "
            "stage",
            "journal": "BIT",
            "volume": "44",
            "pages": "489--502",
            "year": "2004",
            "doi": "10.1023/B:BITN.0000046811.70614.38",
        },
    ),
    "andersen1983": (
        "article",
        {
            "author": "Andersen, Hans C.",
            "title": "{RATTLE}: a ``velocity'' version of the {SHAKE} algorithm for molecular "
            "dynamics calculations",
            "journal": "J. Comput. Phys.",
            "volume": "52",
            "pages": "24--34",
            "year": "1983",
            "doi": "10.1016/0021-9991(83)90014-1",
        },
    ),
    "bogacki1989": (
        "article",
        {
            "author": "Bogacki, P. and Shampine, L. F.",
            "title": "A 3(2) pair of {Runge-Kutta} formulas",
            "journal": "Appl. Math. Lett.",
            "volume": "2",
            "pages": "321--325",
            "year": "1989",
            "doi": "10.1016/0893-9659(89)90079-7",
        },
    ),
    "baumgarte1972": (
        "article",
        {
            "author": "Baumgarte, J.",
            "title": "Stabilization of constraints and integrals of motion in dynamical systems",
            "journal": "Comput. Methods Appl. Mech. Eng.",
            "volume": "1",
            "pages": "1--16",
            "year": "1972",
            "doi": "10.1016/0045-7825(72)90018-7",
        },
    ),
    "hairer2006": (
        "book",
        {
            "author": "Hairer, Ernst and Lubich, Christian and Wanner, Gerhard",
            "title": "Geometric Numerical Integration",
            "edition": "2",
            "publisher": "Springer",
            "year": "2006",
            "doi": "10.1007/3-540-30666-8",
        },
    ),
    "parikh2014": (
        "article",
        {
            "author": "Parikh, Neal and Boyd, Stephen",
            "title": "Proximal algorithms",
            "journal": "Found. Trends Optim.",
            "volume": "1",
            "pages": "127--239",
            "year": "2014",
            "doi": "10.1561/2400000003",
        },
    ),
    "golub1996": (
        "book",
        {
            "author": "Golub, Gene H. and Van Loan, Charles F.",
            "title": "Matrix Computations",
            "edition": "3",
            "publisher": "Johns Hopkins University Press",
            "year": "1996",
        },
    ),
    "varga2001": (
        "article",
        {
            "author": "Varga, Andr{\\'a}s",
            "title": "Computing generalized inverse systems using matrix pencil methods",
            "journal": "Int. J. Appl. Math. Comput. Sci.",
            "volume": "11",
            "pages": "1055--1068",
            "year": "2001",
        },
    ),
    "greville1960": (
        "article",
        {
            "author": "Greville, T. N. E.",
            "title": "Some applications of the pseudoinverse of a matrix",
            "journal": "SIAM Rev.",
            "volume": "2",
            "pages": "15--22",
            "year": "1960",
            "doi": "10.1137/1002004",
        },
    ),
    "bjorck1967": (
        "article",
        {
            "author": 'Bj{\\"o}rck, {\\AA}ke',
            "title": "Solving linear least squares problems by {Gram-Schmidt} orthogonalization",
            "journal": "BIT",
            "volume": "7",
            "pages": "1--21",
            "year": "1967",
            "doi": "10.1007/BF01934122",
        },
    ),
    "hestenes1958": (
        "article",
        {
            "author": "Hestenes, Magnus R.",
            "title": "Inversion of matrices by biorthogonalization and related results",
            "journal": "J. Soc. Ind. Appl. Math.",
            "volume": "6",
            "pages": "51--90",
            "year": "1958",
            "doi": "10.1137/0106005",
        },
    ),
    "udwadia2014": (
        "article",
        {
            "author": "Udwadia, Firdaus E. and Wanichanon, Thanapat",
            "title": "Control of uncertain nonlinear multibody mechanical systems",
            "journal": "J. Appl. Mech.",
            "volume": "81",
            "pages": "041020",
            "year": "2014",
        },
    ),
    "udwadia2014keeping": (
        "article",
        {
            "author": "Udwadia, Firdaus E. and Wanichanon, Thanapat and Cho, Hancheol",
            "title": "Methodology for satellite formation-keeping in the presence of system "
            "uncertainties",
            "journal": "J. Guidance, Control, and Dynamics",
            "volume": "37",
            "year": "2014",
            "doi": "10.2514/1.G000317",
        },
    ),
    "chen2010": (
        "article",
        {
            "author": "Chen, Ye-Hwa and Zhang, Xiaorui",
            "title": "Adaptive robust approximate constraint-following control for mechanical "
            "systems",
            "journal": "J. Franklin Institute",
            "volume": "347",
            "pages": "69--86",
            "year": "2010",
        },
    ),
    "butterworth1930": (
        "article",
        {
            "author": "Butterworth, S.",
            "title": "On the theory of filter amplifiers",
            "journal": "Wireless Engineer",
            "volume": "7",
            "pages": "536--541",
            "year": "1930",
        },
    ),
}
"""Kind and fields of each BibTeX entry."""

CITED: dict[str, tuple[str, ...]] = {
    "Dopri8": ("prince1981",),
    "Tsit5": ("tsitouras2011",),
    "Kvaerno5": ("kvaerno2004",),
    "Rattle": ("andersen1983",),
    "Moreau": ("moreau1999", "jean1999"),
    "Bosh3": ("bogacki1989",),
    "Proximal": ("parikh2014",),
    "Sparse": ("parikh2014",),
    "CompleteOrthogonal": ("golub1996",),
    "SVD": ("golub1996",),
    "Varga": ("varga2001",),
    "Greville": ("greville1960",),
    "Householder": ("golub1996",),
    "GramSchmidt": ("bjorck1967",),
    "Jacobi": ("hestenes1958",),
    "UdwadiaKalaba": (EQUATION,),
    "Campbell": ("campbell1979",),
    "CampbellSingular": ("campbell1979",),
    "UdwadiaPhohomsiri": ("udwadia2006",),
    "LagrangeMultipliers": (),
    "Nullspace": ("orsino2017",),
    "Projection": ("hairer2006",),
    "Stabilized": ("baumgarte1972",),
    "Baumgarte": ("baumgarte1972",),
    "NoStabilization": (),
    "BaumgarteRates": ("baumgarte1972",),
    "BaumgarteGains": ("baumgarte1972",),
    "Robust": ("udwadia2014",),
    "Adaptive": ("chen2010",),
    "SlidingSurface": ("udwadia2014keeping",),
    "Butterworth": ("butterworth1930",),
    "FirstOrder": (),
    "SecondOrder": (),
    "Poles": (),
    "Rate": (),
    "LeastNorm": (),
    "WeightedNorm": (),
    "Preferred": (),
    "PaperLeastNorm": (),
}
"""Sources of each method of a run; empty for a method of this library or of any textbook."""

PARTS = ("integrator", "drift", "pseudoinverse", "formulation")
"""Attributes of a run that name its methods."""


@misfits_named
def cite(run: Run) -> str:
    """BibTeX entries for zwang, the equation of Udwadia and Kalaba, and each method of a run.

    Args:
        run: a run, also a loaded one.

    Returns:
        BibTeX, an entry for each source, with its doi and url where it has one, and a comment that
        says what it is cited for.

    Raises:
        ModelError: if the argument is not a run.

    Example:
        >>> print(zw.cite(run))
    """
    if not isinstance(run, Run):
        raise ModelError(f"cite: expected a Run, such as zw.simulate returns, got {type(run)}.")
    used = {SOFTWARE: ["the library"], EQUATION: ["the equation of motion"]}
    for part in PARTS:
        # A method with settings is recorded as its representation: Baumgarte(alpha=5.0).
        for name in re.findall(r"[A-Z]\w+", str(run.attrs.get(part, ""))):
            for key in CITED.get(name, ()):
                used.setdefault(key, []).append(f"{part} {name}")
    for name in _control_methods(run):
        for key in CITED.get(name, ()):
            used.setdefault(key, []).append(f"control {name}")
    return "\n\n".join(_bibtex(key, reasons) for key, reasons in used.items())


def _control_methods(run: Run) -> list[str]:
    """Names of the gains and of the null-space method of a run's servo."""
    try:
        servo = getattr(run.model, "servo", None)
    except ModelError:  # the model of a loaded run that is not trusted
        return []
    if servo is None:
        return []
    gains = getattr(servo, "gains", {})
    gains = gains.values() if isinstance(gains, dict) else [gains]
    found = [*gains, getattr(servo, "null_space", None)]
    return list(dict.fromkeys(type(x).__name__ for x in found if x is not None))


def _bibtex(key: str, reasons: list[str]) -> str:
    kind, fields = ENTRIES[key]
    if key == SOFTWARE:
        fields = {**fields, "version": __version__}
    if "doi" in fields:
        fields = {**fields, "url": f"https://doi.org/{fields['doi']}"}
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    why = ", ".join(dict.fromkeys(reasons))
    return "\n".join([f"% {why}", f"@{kind}{{{key},", *lines, "}"])
