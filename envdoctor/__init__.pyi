from envdoctor.api.calls import check as check
from envdoctor.api.calls import fit as fit
from envdoctor.api.calls import fix as fix
from envdoctor.api.calls import verify as verify
from envdoctor.errors import Trouble as Trouble

__version__: str
