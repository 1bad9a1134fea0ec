"""Highlight code for the companion pages: HTML of a line of a mirror, and of any Python."""

from harness.evidence import escape

TOKENS = {"Keyword": "k", "Name.Builtin": "b", "Literal.Number": "d", "Literal.String": "t",
          "Comment": "q", "Operator.Word": "k", "Name.Function": "f"}  # Pygments' and ours


def highlighted(text, symbol=lambda name: None):
    """Return Python code as HTML; `symbol` of a dotted name is the row that explains it, or None.

    Such a name gets the row's number for its data-n.
    """
    from pygments.lexers import PythonLexer

    tokens = [(str(kind).removeprefix("Token."), value) for kind, value in PythonLexer(
        stripnl=False, ensurenl=False).get_tokens(text)]
    found = []
    for k, (kind, value) in enumerate(tokens):
        kept = next((ours for theirs, ours in TOKENS.items() if kind.startswith(theirs)), "")
        html = escape(value, quote=False)
        row = symbol(dotted(tokens, k)) if kind.startswith("Name") else None
        if row is not None:
            html = f'<span class="s" data-n="{row}">{html}</span>'
        found.append(f"<i class={kept}>{html}</i>" if kept and value.strip() else html)
    return "".join(found)


def dotted(tokens, k):
    """Return the name at a token with what it is an attribute of: ratios.h."""
    name = tokens[k][1]
    while k >= 2 and tokens[k - 1][1] == "." and tokens[k - 2][0].startswith("Name"):
        k -= 2
        name = f"{tokens[k][1]}.{name}"
    return name
