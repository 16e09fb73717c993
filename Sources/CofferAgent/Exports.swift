// The agent, and programs that ask it, need one import.

@_exported public import struct CofferMemory.SecretBytes
@_exported public import struct CofferPlatform.StoreError
@_exported public import protocol CofferStorage.DecidingStore
@_exported public import struct CofferStorage.ItemMetadata
@_exported public import struct CofferStorage.RecordVersion
@_exported public import struct CofferStorage.Sealed
@_exported public import struct CofferStorage.SecretForm
@_exported public import struct CofferStorage.StorageKey
@_exported public import protocol CofferStorage.Store
@_exported public import enum CofferStorage.Vault
@_exported public import enum CofferVault.ItemChange
@_exported public import struct CofferVault.LockedVault
@_exported public import struct CofferVault.UnlockedVault
@_exported public import struct CofferVault.VaultItem
@_exported public import struct CofferVault.VaultOptions
@_exported public import enum CofferVault.WriteCondition
@_exported public import struct CofferVaultFormat.Credentials
@_exported public import struct CofferVaultFormat.Invitation
@_exported public import struct CofferVaultFormat.ItemName
@_exported public import struct CofferVaultFormat.VaultID
@_exported public import struct CofferVaultRows.VaultPlace
@_exported public import struct SystemPackage.FilePath
