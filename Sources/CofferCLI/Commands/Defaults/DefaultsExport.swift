internal import ArgumentParser
internal import Coffer
internal import FoundationEssentials

struct DefaultsExport: Command {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write a domain as an XML property list.",
    discussion: "A file that is there is replaced in one step; one that is new can be read by its owner alone.")

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: ArgumentHelp("The file to write; - is standard output.", valueName: "file|-")) var path: String
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    let list = try session.existingDomain(domain).exportPropertyList()
    if path == "-" { try Output.write(list.bytes) } else { try PlainFile.write(list.bytes, to: path) }
  }
}
