"""Typeset the ASCII mathematics of pseudocode and headers: HTML, its symbols as MathML.

A symbol is a letter, a Greek name or a word with what hangs on it: x_(k-1), L^Sigma, theta*',
dL_beta/dx.  Everything else is plain text, in which a browser may break a line.
"""

import re
from functools import cache
from html import escape, unescape
from itertools import groupby
from typing import NamedTuple

GREEK = {name: f"\\{name}" for name in (
    "alpha beta gamma delta zeta eta theta kappa lambda mu nu xi pi rho sigma tau omega"
    " Gamma Delta Theta Lambda Phi Sigma Omega psi Psi chi").split()}
GREEK |= {"eps": r"\varepsilon", "epsilon": r"\varepsilon", "phi": r"\varphi", "ell": r"\ell"}
NAMES = {**GREEK, "dg": r"\mathrm{d}g", "dtau": r"\Delta\tau", "Ginv": "G^{-1}", "sum": r"\sum",
         "grad": r"\nabla", "dG": r"\partial G", "dx": r"\partial x"}
# in the paper the prime of these is the subscript's
PRIMED_BELOW = ("x_k", "Sigma_theta", "S_theta", "L_R_theta", "m_theta")
SIGNS = {"<-": "\u2190", ":=": "\u2254", "<=": "\u2264", ">=": "\u2265", "!=": "\u2260",
         "->": "\u2192", "+-": "\u00b1", "...": "\u2026", "~": "\u223c", "-": "\u2212",
         "*": "\u2217", "sqrt": "\u221a", "o": "\u2218"}
OPENING = re.compile(r"(?:end (?:for|if)|for|if|else|return|input|function|repeat|until|while|stop)"
                     r"(?![\w-])")  # keywords that open a line or a part of one
JOINING = {"to": r" *for\b", "do": r" *for\b", "then": r".*\bif\b", "else": r".*\bif\b"}
DERIVATIVE = re.compile(r"d(ell|L_beta|[A-Z](?:_\d)?)/d([a-z])(?!\w)")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
CODE = re.compile(r"`([^`]+)`|(?:\w+/)+\w+\.\w+|\w+\.py\b|\btest_\w+")
ABBREVIATION = re.compile(r"i\.e\.|e\.g\.|\d+[a-c]\b|log_evidence")
WORD = re.compile(r"[A-Za-z]+")
ACCENT = re.compile(r"-(hat|check|bar)(?![A-Za-z])")
SUBSCRIPT = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z]+)?(?:,[A-Za-z](?![\w(]))?")
BRACKETS = re.compile(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\{[^{}]*\}")
SUPERSCRIPT = re.compile(r"-?(?:\d+(?:/\d+)?|[A-Za-z]+)")
SIGN = re.compile(r"//|<-|:=|<=|>=|!=|->|\+-|\.\.\.|[^\w\s]")
WHOLE = 18  # characters of source up to which a word with symbols is not broken


class Piece(NamedTuple):
    """A part of a text: a symbol, a sign, a word or white space."""

    kind: str  # "symbol", "sign", "word", "keyword" or "space"
    text: str  # as it is in the source
    latex: str = ""


def pieces(text, keywords=False):
    """List the Pieces of a text, which joined give it back; `keywords` of pseudocode if asked."""
    found, k = [], 0
    while k < len(text):
        piece = piece_at(text, k, keywords)
        found.append(piece)
        k += len(piece.text)
    return found


def piece_at(text, k, keywords):
    """Return the Piece of `text` that starts at k."""
    if space := re.compile(r"\s+").match(text, k):
        return Piece("space", space[0])
    before = text[k - 1] if k else " "
    if keywords and not re.match(r"[\w-]", before) and (word := keyword_at(text, k)):
        return Piece("keyword", word)
    if code := CODE.match(text, k):
        return Piece("code", code[0])
    if word := ABBREVIATION.match(text, k):
        return Piece("word", word[0])
    if piece := symbol_at(text, k):
        return piece
    # a bracket that carries something: that is the symbol, the bracket stays text
    if before in ")]|}" and (hung := scripts_and_primes(text, k))[1] > k:
        return Piece("symbol", text[k:hung[1]], "{}" + hung[0])
    if number := NUMBER.match(text, k):
        end = number.end()
        if end < len(text) and text[end] == "^":
            hung, end = scripts_and_primes(text, end)
            return Piece("symbol", text[k:end], number[0] + hung)
        return Piece("word", number[0])
    if word := re.compile(r"[A-Za-z][A-Za-z-]*[A-Za-z](?:'s\b)?|\w").match(text, k):
        return Piece("word", word[0])
    return Piece("sign", SIGN.match(text, k)[0])


def keyword_at(text, k):
    """Return the keyword of pseudocode that starts at k, or None: it is no word of a sentence."""
    before = text[:k]
    if "//" in before:
        return None
    word = OPENING.match(text, k)
    if word and re.search(r"(?:^|[;:]|\b(?:then|else|repeat))\s*$", before):
        return word[0]
    word = WORD.match(text, k)
    joined = word and re.match(JOINING.get(word[0], r"(?!)"), before)
    return word[0] if joined else None


def symbol_at(text, k):
    """Return the symbol that starts at k, or None."""
    if found := DERIVATIVE.match(text, k):
        hung, end = scripts_and_primes(text, found.end())
        above = "".join(piece.latex for piece in pieces(found[1]))
        return Piece("symbol", text[k:end], rf"\partial {above}/\partial {found[2]}{hung}")
    word = WORD.match(text, k)
    if not word or (k and text[k - 1] == "-" and k > 1 and text[k - 2].isalpha()):
        return None
    name, end = word[0], word.end()
    if name == "sqrt" or (name == "o" and text[k - 1:k] == text[end:end + 1] == " "):
        return Piece("sign", name)
    accent = ACCENT.match(text, end) if len(name) == 1 else None
    if accent:
        end = accent.end()
    elif len(name) > 1 and re.match(r"-[a-z]", text[end:end + 2]):
        return None  # a word with a hyphen
    if is_english(text, k, end):
        return None
    below = text[end:end + 1] == "_"
    known = NAMES if name != "sum" or below else {}
    base = known.get(name, name if len(name) == 1 else rf"\mathrm{{{name}}}")
    if name == "L" and re.match(r"_\(?beta", text[end:]):
        base = r"\mathcal{L}"
    if name == "N" and text[end:end + 1] == "(":
        base = r"\mathcal{N}"
    if name in ("current", "proposed") and below:
        hung, last = scripts_and_primes(text, end + 2)
        return Piece("symbol", text[k:last], f"{text[end + 1]}{hung}_{{\\mathrm{{{name}}}}}")
    if accent:
        base = rf"\{accent[1]}{{{base}}}"
    if text[end:end + 1] == "~" and not text[end + 1:end + 2].isalpha():
        base, end = rf"\tilde{{{base}}}", end + 1
    if len(name) == 1 and (digit := re.compile(r"\d").match(text, end)):  # s2 is a square
        base, end = f"{base}^{digit[0]}", end + 1
    if name == "var" and text[end:end + 1] == "+":
        base, end = r"\mathrm{var}^{+}", end + 1
    hung, end = scripts_and_primes(text, end, k)
    plain = len(name) > 1 and name not in known and end == word.end()
    return None if plain else Piece("symbol", text[k:end], base + hung)


def is_english(text, k, end):
    """Tell whether the word at k..end is English: the article, or one with an apostrophe and s."""
    word = text[k:end]
    if word == "a":
        return bool(re.match(r" [a-z][a-z-]+(?![\w(])", text[end:]))
    return len(word) > 1 and word not in NAMES and bool(re.match(r"'s\b", text[end:]))


def scripts_and_primes(text, k, start=None):
    """Return the LaTeX of the scripts, primes and stars at k, and where they end.

    `start` is where the symbol begins, if it has a name.
    """
    above, below = "", ""
    while k < len(text):
        if text[k] == "'" and start is not None and text[start:k] in PRIMED_BELOW:
            more = re.compile(r"'(,[A-Za-z])?").match(text, k)
            inner = below.endswith("}")  # L_R_theta': of the subscript's subscript
            below = below[:len(below) - inner] + r"^{\prime }" + "}" * inner + (more[1] or "")
            k = more.end()
        elif text[k] == "'":
            above += r"\prime "
            k += 1
        elif text[k] == "*" and k and text[k - 1] not in " ([" and not below.endswith("("):
            above += r"\ast "
            k += 1
        elif text[k] in "_^" and (group := script(text, k + 1, text[k] == "_")):
            content, end = group
            if text[k] == "_":
                below += latex(content, script=True)
            else:
                above += latex(content, script=True)
            k = end
        else:
            break
    return (f"^{{{above}}}" if above else "") + (f"_{{{below}}}" if below else ""), k


def script(text, k, below):
    """Return the content of the script that starts at k, without its brackets, and its end."""
    if group := BRACKETS.match(text, k):
        return group[0][1:-1], group.end()
    found = (SUBSCRIPT if below else SUPERSCRIPT).match(text, k)
    return (found[0], found.end()) if found else None


def latex(text, script=False):
    """Return the LaTeX of a text; in a script, words of several letters are upright."""
    found = ""
    for piece in pieces(text):
        if piece.kind == "symbol":
            found += piece.latex
        elif piece.kind == "space":
            found += "" if script and re.search(r"[-+=<>,]$", found) else r"\,"
        elif piece.kind == "sign":
            found += piece.text
        elif script and re.fullmatch(r"(\w)\1", piece.text):  # nn
            found += piece.text
        else:
            found += piece.text if piece.text.isdigit() else rf"\mathrm{{{piece.text}}}"
    return found


def html(text, keywords=False, symbol=None):
    """Return the HTML of a text.

    `symbol(piece, html, following)`, if given, returns what stands for a symbol whose HTML this is,
    before so much more text.
    """
    found, end = [], 0
    for _, group in groupby(pieces(text, keywords), key=lambda piece: piece.kind == "space"):
        word, drawn = list(group), ""
        for piece in word:
            end += len(piece.text)
            part = html_of_piece(piece)
            asked = symbol and piece.kind == "symbol"
            drawn += symbol(piece, part, text[end:]) if asked else part
        whole = len(word) > 1 and any(piece.kind == "symbol" for piece in word) and (
            sum(len(piece.text) for piece in word) <= WHOLE)
        found.append(f'<span class="w">{drawn}</span>' if whole else drawn)
    drawn = re.sub(r"(?<![\w/.^])1/2(?![\w/])", "\u00bd", "".join(found))
    before, comment, rest = drawn.partition("//")
    return f"{before}<i>{comment}{rest}</i>" if comment and keywords else drawn


def html_of_piece(piece):
    """Return the HTML of a Piece: of a symbol MathML, with its source for a text alternative."""
    if piece.kind == "symbol":
        return f'<math alttext="{escape(piece.text)}">{mathml(piece.latex)}</math>'
    if piece.kind == "keyword":
        return f"<b>{piece.text}</b>"
    if piece.kind == "code":
        return f"<code>{escape(piece.text.strip('`'), quote=False)}</code>"
    sign = SIGNS.get(piece.text, piece.text) if piece.kind == "sign" else piece.text
    return escape(sign, quote=False)


@cache
def mathml(tex):
    """Return what stands within the MathML of LaTeX."""
    from latex2mathml.converter import convert

    found = re.fullmatch(r"<math [^>]*><mrow>(.*)</mrow></math>", convert(tex))[1]
    return re.sub(r"&#x\w+;", lambda code: escape(unescape(code[0])), found)
