// One import for a vault and its sync.

@_exported public import struct CofferMemory.SecretBytes
@_exported public import struct CofferPlatform.StoreError
@_exported public import struct CofferVault.LockedVault
@_exported public import struct CofferVault.MergeReport
@_exported public import struct CofferVault.UnlockedVault
@_exported public import struct CofferVault.VaultOptions
@_exported public import struct CofferVaultFormat.Credentials
@_exported public import struct CofferVaultFormat.VaultID
@_exported public import struct CofferVaultRows.VaultPlace
@_exported public import struct SystemPackage.FilePath
