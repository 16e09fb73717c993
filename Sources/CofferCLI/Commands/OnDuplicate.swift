internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import SystemPackage

/// `--on-duplicate`: the fate of an imported value whose name is taken.
enum OnDuplicate: String, ExpressibleByArgument, CaseIterable {
  case skip, replace, fail

  var policy: DuplicatePolicy {
    switch self {
    case .skip: .keep
    case .replace: .replace
    case .fail: .refuse
    }
  }
}
