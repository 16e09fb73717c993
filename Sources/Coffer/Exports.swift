// `import Coffer` shows these types and those of this target, which are what an application needs. Code that implements a
// store, makes vaults or runs the agent imports its library; see README.

@_exported public import class CofferAgent.AgentStore
@_exported public import class CofferDefaults.DefaultsStore
@_exported public import struct CofferMemory.SecretBytes
@_exported public import struct CofferPlatform.StoreError
@_exported public import class CofferPlatform.Subscription
@_exported public import protocol CofferStorage.KeySpace
@_exported public import enum CofferStorage.Plain
@_exported public import protocol CofferStorage.PlainValue
@_exported public import struct CofferStorage.Sealed
@_exported public import protocol CofferStorage.SecretPayload
@_exported public import struct CofferStorage.StorageKey
@_exported public import struct CofferStorage.StorageKeyFamily
@_exported public import class CofferStorage.StorageRouter
@_exported public import class CofferStorage.Transaction
@_exported public import enum CofferStorage.Vault
@_exported public import struct CofferVault.LockedVault
@_exported public import struct CofferVault.UnlockedVault
@_exported public import class CofferVault.VaultStore
@_exported public import struct CofferVaultFormat.Credentials
@_exported public import struct CofferVaultFormat.ItemName
@_exported public import struct CofferVaultRows.VaultPlace
@_exported public import struct SystemPackage.FilePath
