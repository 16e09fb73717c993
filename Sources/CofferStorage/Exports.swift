// Handlers are part of the API of whatever is observed: who imports this module sees them.
@_exported public import CofferObservation
