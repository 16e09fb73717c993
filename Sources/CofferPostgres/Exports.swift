// One import for vaults on a server, with their types and credentials.

@_exported public import struct CofferMemory.SecretBytes
@_exported public import struct CofferPlatform.StoreError
@_exported public import class CofferPlatform.Subscription
@_exported public import struct CofferStorage.Change
@_exported public import class CofferStorage.ChangeFeed
@_exported public import struct CofferStorage.Explanation
@_exported public import protocol CofferStorage.LayeredStore
@_exported public import enum CofferStorage.Plain
@_exported public import enum CofferStorage.PlainForm
@_exported public import protocol CofferStorage.PlainValue
@_exported public import struct CofferStorage.StorageKey
@_exported public import protocol CofferStorage.Store
@_exported public import struct CofferVault.LockedVault
@_exported public import struct CofferVault.UnlockedVault
@_exported public import struct CofferVault.VaultOptions
@_exported public import class CofferVault.VaultStore
@_exported public import struct CofferVaultFormat.Credentials
@_exported public import struct CofferVaultRows.VaultPlace
