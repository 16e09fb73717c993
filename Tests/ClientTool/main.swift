// A program of CofferClient alone: `ClientTool FOLDER VAULT SERVICE ACCOUNT` prints a value, or the number of an error's kind.
import CofferClient

let words = Array(CommandLine.arguments.dropFirst())
let agent = AgentConnection(folder: words[0], vault: words[1])
do throws(ClientError) {
  let value = try agent.value(of: AgentItem(service: words[2], account: words[3]))
  print(value?.text() ?? "nothing")
} catch { print("kind \(error.kind.rawValue)") }
