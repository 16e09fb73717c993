// A store over UserDefaults needs one import.

@_exported public import struct CofferPlatform.StoreError
@_exported public import struct CofferStorage.Change
@_exported public import class CofferStorage.ChangeFeed
@_exported public import protocol CofferStorage.LayeredStore
@_exported public import enum CofferStorage.Plain
@_exported public import enum CofferStorage.PlainForm
@_exported public import protocol CofferStorage.PlainValue
@_exported public import struct CofferStorage.StorageKey
@_exported public import protocol CofferStorage.Store
