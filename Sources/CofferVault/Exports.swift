// A vault by itself needs one import.

@_exported public import struct CofferMemory.SecretBytes
@_exported public import enum CofferMemory.SecretMemory
@_exported public import enum CofferMemory.SecretMemoryError
@_exported public import struct CofferPlatform.StoreError
@_exported public import class CofferPlatform.Subscription
@_exported public import struct CofferStorage.Change
@_exported public import class CofferStorage.ChangeFeed
@_exported public import struct CofferStorage.ItemMetadata
@_exported public import struct CofferStorage.RecordVersion
@_exported public import struct CofferStorage.Sealed
@_exported public import struct CofferStorage.SecretForm
@_exported public import struct CofferStorage.StorageKey
@_exported public import protocol CofferStorage.Store
@_exported public import enum CofferStorage.Vault
internal import CofferVaultFormat
@_exported public import struct CofferVaultFormat.Credentials
@_exported public import enum CofferVaultFormat.Identity
@_exported public import struct CofferVaultFormat.Invitation
@_exported public import struct CofferVaultFormat.ItemName
@_exported public import struct CofferVaultFormat.KeyFile
@_exported public import struct CofferVaultFormat.PassphraseCost
@_exported public import struct CofferVaultFormat.Recipient
@_exported public import enum CofferVaultFormat.RecoveryCode
@_exported public import enum CofferVaultFormat.SlotKind
@_exported public import struct CofferVaultFormat.SlotSummary
@_exported public import struct CofferVaultFormat.VaultID
@_exported public import struct CofferVaultRows.VaultPlace
@_exported public import struct SystemPackage.FilePath
