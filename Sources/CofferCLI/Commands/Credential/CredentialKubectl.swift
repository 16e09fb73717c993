internal import ArgumentParser
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

struct CredentialKubectlCommand: HotCommand {
  static let configuration = CommandConfiguration(
    commandName: "kubectl",
    abstract: "Answer kubectl and its libraries as an exec credential plugin.",
    discussion: """
      The token is that of a host or URL, as git and 'coffer login' store it, or of an item. Without a name it is that of the \
      cluster's server, which kubectl sends if provideClusterInfo is true.
      """)

  @Argument(help: "A host, a URL or the service of an item.", completion: Completions.services) var service: String?
  @Argument(help: "The account.") var account: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  /// Source: kubernetes.io/docs/reference/config-api/client-authentication.v1.
  private struct Request: Decodable {
    struct Spec: Decodable {
      let cluster: Cluster?
      let interactive: Bool?
    }
    struct Cluster: Decodable { let server: String? }
    let apiVersion: String
    let spec: Spec?
  }

  private static let group = "client.authentication.k8s.io/"
  private static let versions = ["v1", "v1beta1"].map { group + $0 }

  private struct Answer: Encodable {
    let apiVersion: String
    let kind = "ExecCredential"
  }
  private struct Status: Encodable { let expirationTimestamp: Date? }

  func perform(_ context: Context) throws {
    let request = try Self.request()
    let version = request?.apiVersion ?? Self.versions[0]
    guard Self.versions.contains(version) else {
      throw StoreError(
        .unsupported, "kubectl asks for \(Printable.line(version))", place: "KUBERNETES_EXEC_INFO",
        cure: "apiVersion: \(Self.versions[0]) in the user's exec")
    }
    if request?.spec?.interactive == false { context.questions = .notAtTerminal }
    guard let service = service ?? request?.spec?.cluster?.server else {
      throw Failure.usage(
        "neither an item nor a server is named", try: "coffer helper kubectl SERVICE, or provideClusterInfo: true")
    }
    context.reason = "kubectl wants the token of \(service)."
    let found = try HostCredential.get(service, account, in: context.itemsToRead())
    let token = try found.secret.line(of: found.name, for: "kubectl")
    let status = JSONText.encode(Status(expirationTimestamp: found.expires)).dropLast()
    try JSONText.write(
      JSONText.encode(Answer(apiVersion: version)).dropLast() + ",\"status\":\(status)\(status == "{" ? "" : ",")\"token\":",
      token.bytes, "}}\n")
  }

  private static func request() throws -> Request? {
    guard let text = ProcessEnvironment.value("KUBERNETES_EXEC_INFO") else { return nil }
    do { return try JSONDecoder().decode(Request.self, from: Data(text.utf8)) } catch {
      throw StoreError(
        .damaged, "kubectl's request is not an ExecCredential", place: "KUBERNETES_EXEC_INFO",
        cure: "kubectl does not send this; nothing was done")
    }
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    (service, account) = (line.word(), line.word())
    (unlocking, options) = (line.unlockingOptions(), line.commonOptions())
    return true
  }
}
