internal import Coffer
internal import FoundationEssentials
internal import SystemPackage

/// Secrets that lie where anyone who has the file can read them.
struct SecretSearch {
  let session: Session

  func findings(_ check: String) -> [Finding] { inPreferences(check) + inOtherFiles(check) }

  private func inPreferences(_ check: String) -> [Finding] {
    let domains: [DefaultsDomain]
    do { domains = try DefaultsDomain.list(in: session.places.defaults) } catch { return [Finding(check, error)] }
    return domains.flatMap { domain -> [Finding] in
      let values: [String: PlainForm]
      do { values = try session.domain(domain.name).contents() } catch { return [] }  // Said by the check of preferences.
      return values.sorted { $0.key < $1.key }.compactMap { key, form in
        guard let reason = Self.reason(key, form) else { return nil }
        return Finding(
          check, .warning, "'\(Printable.line(key))' of domain '\(domain.name)': \(reason)", place: domain.file.string,
          cure: "coffer set '\(Printable.line(key))' --secret --domain \(domain.name), and read it as a secret from then on")
      }
    }
  }

  private static func reason(_ key: String, _ form: PlainForm) -> String? {
    switch form {
    case .string(let text): SecretSigns.reason(key: key, value: text)
    case .data(let bytes): String(validating: bytes, as: UTF8.self).flatMap { SecretSigns.reason(key: key, value: $0) }
    case .array(let items): items.lazy.compactMap { reason(key, $0) }.first
    case .dictionary(let items):
      items.sorted { $0.key < $1.key }.lazy.compactMap { reason($0.key, $0.value) }.first
    default: nil
    }
  }

  /// What other programs keep in the clear where nobody gave them a better place.
  private func inOtherFiles(_ check: String) -> [Finding] {
    guard let home = ProcessEnvironment.value("HOME").map({ FilePath($0) }) else { return [] }
    let config = session.places.home == nil ? session.places.defaults : home.appending(".config")
    return CredentialFile.known(home: home, config: config).compactMap { file in
      guard let text = Self.text(file.path), file.holdsSecret(text) else { return nil }
      return Finding(check, .warning, "\(file.owner) in the clear", place: file.path.string, cure: file.cure)
    }
  }

  /// Bytes of such a file that are looked at.
  private static let largestFile = 1 << 20

  private static func text(_ path: FilePath) -> String? {
    do { return String(decoding: try PlainFile.read(path.string, limit: largestFile), as: UTF8.self) } catch { return nil }
  }
}
