/// Variables that belong to a shell: an assignment to one fails, is ignored, is calculated, changes the shell's user or state, or is run at
/// the next prompt.
///
/// Sources: bash(1), "Shell Variables"; zshparam(1), "Parameters Set By The Shell" and "Parameters Used By The Shell"; zshmodules(1);
/// dash(1), `getopts`. Shells tell upper case from lower.
enum ShellVariables {
  static func own(_ name: String) -> Bool { all.contains(name) }

  private static let all = Swift.Set((bash + " " + zsh).split(separator: " ").map(String.init))

  private static let bash = """
    BASHOPTS BASHPID BASH_ARGC BASH_ARGV BASH_COMMAND BASH_LINENO BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO DIRSTACK EPOCHREALTIME \
    EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD LINENO OPTIND PIPESTATUS PPID PROMPT_COMMAND PS0 PS1 PS2 PS4 RANDOM SECONDS SHELLOPTS \
    SRANDOM UID _
    """

  private static let zsh = """
    ARGC COLUMNS EGID ERRNO FUNCNEST GID HISTCHARS HISTSIZE KEYBOARD_HACK KEYTIMEOUT LINES LISTMAX LOGCHECK MAILCHECK SAVEHIST SHLVL \
    TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTYIDLE USERNAME ZLE_RPROMPT_INDENT ZSH_EVAL_CONTEXT ZSH_SUBSHELL \
    aliases builtins commands dirstack dis_aliases dis_builtins dis_functions dis_functions_source dis_galiases dis_patchars \
    dis_reswords dis_saliases epochtime errnos funcfiletrace funcsourcetrace funcstack functions functions_source functrace galiases \
    histchars history historywords jobdirs jobstates jobtexts keymaps langinfo mapfile modules nameddirs options parameters patchars \
    pipestatus reswords saliases signals status sysparams termcap terminfo userdirs usergroups widgets zsh_eval_context \
    zsh_scheduled_events
    """
}
