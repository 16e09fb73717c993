internal import ArgumentParser
internal import CofferStorage
internal import CofferTerminal

struct GenerateCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "generate", abstract: "Print a random password or passphrase, and its strength in bits.",
    discussion: """
      Without options: 32 letters, digits, - and _ (192 bits). Every result is equally likely; the bits go to standard error. \
      'coffer set … --generate' stores one without showing it.
      """)

  static var idleOptions: Set<String> { ["yes", "home", "vault"] }

  @OptionGroup var recipe: RecipeOptions
  @OptionGroup var clipboard: ClipboardOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws { try clipboard.check(json: options.json) }

  func perform(_ context: Context) throws {
    let clipboard = try clipboard.open()
    let (value, bits) = try recipe.make()
    if options.json { return try JSONText.write(JSONText.encode(["bits": bits]), "value", value.bytes) }
    context.note("\(RecipeOptions.text(bits)) bits of entropy")
    if let clipboard {
      return try clipboard.copy(value.bytes, recipe.words == nil ? "the new password" : "the new passphrase", context)
    }
    try Output.write(value.bytes)
    try Output.write("\n")
  }
}
