// The one place that tells the C libraries apart: every other file imports CofferPlatform and sees the system's calls and types by it.
@_exported public import CCofferPlatform

#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#elseif canImport(Darwin)
  @_exported public import Darwin
#endif
