// Handles, operators and containers need one import.

@_exported public import struct CofferDefaults.DefaultsDomain
@_exported public import class CofferDefaults.DefaultsStore
@_exported public import struct CofferPlatform.StoreError
@_exported public import class CofferPlatform.Subscription
@_exported public import struct CofferStorage.Change
@_exported public import class CofferStorage.ChangeFeed
@_exported public import protocol CofferStorage.DecidingStore
@_exported public import class CofferStorage.Handler
@_exported public import protocol CofferStorage.LayeredStore
@_exported public import class CofferStorage.MemoryStore
@_exported public import enum CofferStorage.Plain
@_exported public import enum CofferStorage.PlainForm
@_exported public import protocol CofferStorage.PlainValue
@_exported public import protocol CofferStorage.Route
@_exported public import struct CofferStorage.Sealed
@_exported public import protocol CofferStorage.SecretPayload
@_exported public import struct CofferStorage.StorageKey
@_exported public import class CofferStorage.StorageRouter
@_exported public import protocol CofferStorage.Store
@_exported public import struct CofferStorage.ValueChanges
@_exported public import struct CofferStorage.ValueOrigin
@_exported public import enum CofferStorage.Vault
@_exported public import struct SystemPackage.FilePath
