internal import ArgumentParser
internal import Coffer

struct DefaultsReadType: Command {
  static let configuration = CommandConfiguration(
    commandName: "read-type", abstract: "Print the type of a preference.",
    discussion: "One of string, integer, float, boolean, date, data, array and dictionary.")

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The key.", completion: Completions.keys) var key: String
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let type = try session.value(of: key, in: domain).typeWord
    try Output.line(output.json ? JSONText.encode(Answer(domain: domain, key: key, type: type)) : "Type is \(type)")
  }

  private struct Answer: Encodable { let domain: String, key: String, type: String }
}

extension PlainForm {
  /// The type in the words of `defaults`, which are its flags' as well.
  var typeWord: String {
    if case .real = self { "float" } else { kindName }
  }
}
