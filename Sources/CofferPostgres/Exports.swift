// Vaults on a server need one import: what they are, and what opens them.

@_exported public import struct CofferMemory.SecretBytes
@_exported public import struct CofferPlatform.StoreError
@_exported public import struct CofferVault.Credentials
@_exported public import struct CofferVault.LockedVault
@_exported public import class CofferVault.VaultStore
@_exported public import struct CofferVault.UnlockedVault
@_exported public import struct CofferVault.VaultOptions
@_exported public import struct CofferVault.VaultPlace
