internal import ArgumentParser
internal import Coffer

struct DefaultsDomains: Command {
  static let configuration = CommandConfiguration(
    commandName: "domains", abstract: "List the domains, one a line.",
    discussion: "A domain is a property list in the folder of preferences; 'coffer env' names the folder.", aliases: ["ls"])

  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let domains = try DefaultsDomain.list(in: session.places.defaults).map(\.name)
    if output.json { return try Output.line(JSONText.encode(domains)) }
    if !domains.isEmpty { try Output.line(domains.map(Printable.line).joined(separator: "\n")) }
  }
}
