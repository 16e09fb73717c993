// One import is enough: whoever imports Coffer sees keys and routers, guarded memory, and both stores.
@_exported public import CofferAgent
@_exported public import CofferDefaults
@_exported public import CofferMemory
@_exported public import class CofferPlatform.Subscription
@_exported public import struct CofferPlatform.StoreError
@_exported public import struct CofferPlatform.TransactionID
@_exported public import CofferStorage
@_exported public import CofferValues
@_exported public import CofferVault
// Paths are part of the API: LockedVault.open("/srv/vault.sqlite", options: …).
@_exported public import struct SystemPackage.FilePath
