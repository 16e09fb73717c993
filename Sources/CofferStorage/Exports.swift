// Types that the author of a store needs beside this library: its error, and guarded bytes.

@_exported public import struct CofferMemory.SecretBytes
@_exported public import struct CofferPlatform.StoreError
@_exported public import class CofferPlatform.Subscription
@_exported public import struct CofferPlatform.TransactionID
// Handlers are part of the API of every observed type.
@_exported public import CofferObservation
