// A program that logs in, or has a session keep the tokens, needs one import beside `Coffer`, and without a session that one
// alone.

@_exported public import struct CofferMemory.SecretBytes
@_exported public import struct CofferPlatform.StoreError
@_exported public import struct CofferStorage.SecretForm
