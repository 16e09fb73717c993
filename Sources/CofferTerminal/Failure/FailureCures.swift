internal import Coffer
internal import CofferPlatform

extension StoreError {
  package var commandCure: String { remedy?.commands ?? cure }

  var inCommandWords: StoreError {
    StoreError(
      kind, what, key: key, place: place, cure: commandCure, underlying: (underlying as? StoreError)?.inCommandWords ?? underlying
    )
  }
}

extension StoreError.Remedy {
  /// The step in this program's commands, flags and variables. Without `default`: the compiler demands words for a new
  /// remedy.
  package var commands: String {
    switch self {
    case .makeVault: "coffer init makes one; or give the path of another"
    case .returnVault: "put it back, from a backup by coffer restore FILE; coffer init makes another vault"
    case .acceptReplaced: "put the right vault back; if this one is right, accept it with coffer vault pin accept"
    case .acceptOlder:
      "an older copy was put back: find the newer file; if the old one is right, accept it with coffer vault pin accept"
    case .acceptFork:
      "two copies were written apart: find the other one; if this one is right, accept it with coffer vault pin accept"
    case .acceptMoved: "the vault itself, at its own place; if it was moved here, accept it with coffer vault pin accept"
    case .acceptAtPath: "check that the right vault stands there, then accept it with coffer vault pin accept"
    case .acceptUnpinned: "check that the vault is the newest one, then accept it with coffer vault pin accept"
    case .expectVault: "ask someone who has the vault for an invitation: coffer vault join PLACE INVITATION"
    case .acceptInvited:
      "ask someone who has the vault for an invitation: coffer vault pin accept --invitation INVITATION"
    case .copyItems: "copy the items to a new vault with coffer export, or restore a backup"
    case .leaveVault: "copy the items to a new vault with coffer export, and remove this one"
    case .giveBackup: "make a backup of that vault with coffer backup, and give that"
    case .giveBackupSecret:
      "give that, by --passphrase-file for example; COFFER_PASSPHRASE_FILE or COFFER_KEY_FILE, or the terminal, may have what "
        + "opens the vault now"
    case .replaceVault: "restore to another path, or say --replace to replace it; it is kept beside it"
    case .acceptOlderKey:
      "a backup made after the key was changed, or what opens the vault that stands there as well; to go back to the older key "
        + "on purpose, --older-key"
    case .acceptOlderCopy: "a copy that was made since; if you know this one, --older-key"
    case .rebuild: "restore a backup; without one, coffer vault repair --rebuild keeps the records that open"
    case .askRecipient: "ask for it again; coffer vault identity FILE prints it"
    case .makeMirror: "coffer vault mirror FILE --vault URL makes it anew, once the server can be reached"
    case .remakeMirror:
      "find out who put it there; to have the mirror anew, move it away, and make it with coffer vault mirror FILE --vault URL"
    case .openMirror: "--vault mirror:FILE, which reads it"
    case .leaveMirror: "the command with the vault's own place, once the server can be reached"
    case .readMirror:
      "check that it is there and can be reached, then try again; --vault mirror:FILE reads without it what "
        + "coffer vault mirror FILE kept before"
    case .startAgent: "coffer unlock starts one, or unlock the vault in this process"
    case .unlockAgent: "coffer unlock, then try again"
    case .relockAgent: "coffer lock, then unlock the vault that you expect"
    case .restartAgent: "coffer agent stop, then coffer unlock"
    case .replaceAgent: "coffer agent stop, then coffer unlock; or --no-agent"
    case .endAgent: "coffer status --agent shows it, coffer agent stop ends it"
    case .askAgent: "coffer status --agent"
    case .leaveAgentOut: "--no-agent, or another COFFER_HOME"
    case .distrustAgent: "find out who put it there; --no-agent leaves the agent out"
    case .oneVersion: "use one version of coffer for both"
    }
  }
}
