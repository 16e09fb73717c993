// A service needs one import beside `Coffer`, which makes the router.

@_exported public import struct CofferPlatform.StoreError
@_exported public import class CofferStorage.StorageRouter
