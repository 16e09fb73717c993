internal import ArgumentParser
internal import Coffer
struct TourCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "tour", abstract: "See the main job done on real files, step by step.")
  @OptionGroup var common: CommonOptions
  func perform(_ session: Session) throws {}
}
