// Types used with mocks and the conformance suite.

@_exported public import struct Coffer.Places
@_exported public import class CofferDefaults.DefaultsStore
@_exported public import struct CofferMemory.SecretBytes
@_exported public import struct CofferPlatform.StoreError
@_exported public import struct CofferPlatform.TransactionID
@_exported public import struct CofferStorage.Change
@_exported public import class CofferStorage.ChangeFeed
@_exported public import protocol CofferStorage.DecidingStore
@_exported public import struct CofferStorage.ItemMetadata
@_exported public import protocol CofferStorage.LayeredStore
@_exported public import enum CofferStorage.Plain
@_exported public import enum CofferStorage.PlainForm
@_exported public import struct CofferStorage.RecordVersion
@_exported public import protocol CofferStorage.Route
@_exported public import struct CofferStorage.SecretForm
@_exported public import class CofferStorage.StorageRouter
@_exported public import protocol CofferStorage.Store
@_exported public import enum CofferStorage.Vault
@_exported public import struct SystemPackage.FilePath
