"""`proctor completion`: the script by which a shell completes commands, options and their values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = {
    "bash": 'eval "$(proctor completion bash)"    in ~/.bashrc',
    "zsh": 'eval "$(proctor completion zsh)"    in ~/.zshrc, after compinit',
    "fish": "proctor completion fish | source    in ~/.config/fish/config.fish",
}


@click.command("completion", epilog="\n\n".join(SHELLS.values()))
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> int:
    """Print what makes SHELL complete commands, options and their values at the Tab key. In the file of your shell:"""
    found = get_completion_class(shell)
    assert found is not None, shell
    click.echo(found(ctx.find_root().command, {}, "proctor", "_PROCTOR_COMPLETE").source())
    return 0
