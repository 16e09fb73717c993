public import CofferPlatform
public import CofferStorage

/// A value made from another one. What it does not say itself is as the other has it, and no operator lowers the sensitivity.
public protocol ValueOperator: ThrowingPersistedValue where Sensitivity == Base.Sensitivity {
  /// The other's type.
  associatedtype Base: ThrowingPersistedValue
  /// The value beneath.
  var base: Base { get }
}

extension ValueOperator {
  /// As the value beneath.
  public var mutatesAtomically: Bool { base.mutatesAtomically }
  /// As the value beneath.
  public var isSecret: Bool { base.isSecret }
  /// As the value beneath.
  public var origins: [ValueOrigin] { base.origins }
}

extension ValueOperator where Base: PersistedValue {
  /// As the value beneath.
  public func report(_ failure: StoreError) { base.report(failure) }
}
