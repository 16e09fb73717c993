internal import Foundation

/// The same numbers for the same seed, to reproduce a failure (SplitMix64, Steele, Lea and Flood 2014).
public struct Random: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// The numbers of `seed`.
  public init(seed: UInt64) { state = seed }

  /// A campaign's choices, which differ in each run. The seed is printed; `COFFER_TEST_SEED` repeats it.
  public init(campaign: String) {
    let given = ProcessInfo.processInfo.environment["COFFER_TEST_SEED"].flatMap(UInt64.init)
    let seed = given ?? .random(in: .min ... .max)
    print("\(campaign): COFFER_TEST_SEED=\(seed)")
    self.init(seed: seed)
  }

  /// The next number.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var number = state
    number = (number ^ number >> 30) &* 0xBF58_476D_1CE4_E5B9
    number = (number ^ number >> 27) &* 0x94D0_49BB_1331_11EB
    return number ^ number >> 31
  }
}
