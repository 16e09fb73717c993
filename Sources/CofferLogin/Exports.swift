// A program that logs in needs only this import, and with a session `Coffer` as well.

@_exported public import struct CofferMemory.SecretBytes
@_exported public import struct CofferPlatform.StoreError
@_exported public import struct CofferStorage.SecretForm
