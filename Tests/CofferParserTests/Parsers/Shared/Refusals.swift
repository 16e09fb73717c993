import CofferMemory
import CofferPlatform

/// The errors with which an input may be refused.
enum Refusals {
  private static let kinds: [StoreError.Kind] = [
    .damaged, .tampered, .wrongSecret, .unfitSecret, .invalidName, .unsupported, .notAVault, .denied, .notFound, .ambiguous,
    .conflict, .unencodable, .expired, .clockBehind, .incomplete,
  ]

  static func unexplained(_ error: any Error) -> String? {
    switch error {
    case let error as StoreError:
      guard !error.what.isEmpty, !error.cure.isEmpty else { return "an error that does not say what to do: \(error)" }
      switch error.kind {
      case .tooLarge, .newerFormat, .undecodable: return nil
      default: return kinds.contains(error.kind) ? nil : "an error that is no refusal: \(error)"
      }
    case let error as SecretMemoryError: return "want of memory: \(error)"
    default: return nil
    }
  }
}
