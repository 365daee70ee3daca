"""The simulator: a model server for dry runs and tests, right as often as it is told to be.

It speaks the chat protocols of OpenAI, Ollama, Gemini, Anthropic and xAI over real HTTP and is
deterministic by its seed.
`spawn` starts one as a child process. The server itself is `proctor.simulator.app.make_app`, which
is not imported here because it brings in aiohttp and the command line must start quickly.
"""

from proctor.simulator.answers import Answers, KnownAnswer, prompt_key, read_answers, write_answers
from proctor.simulator.behaviour import FAVOURING, NAMED, Behaviour
from proctor.simulator.judges import judged
from proctor.simulator.options import OPTIONS, Option, Setup, read_options
from proctor.simulator.process import Simulated, SimulatorDied, spawn

__all__ = [
    "FAVOURING",
    "NAMED",
    "OPTIONS",
    "Answers",
    "Behaviour",
    "KnownAnswer",
    "Option",
    "Setup",
    "Simulated",
    "SimulatorDied",
    "judged",
    "prompt_key",
    "read_answers",
    "read_options",
    "spawn",
    "write_answers",
]
