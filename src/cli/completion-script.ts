/**
 * Completion for shells, written from the tree of commands: for each path of subcommands the words that may follow it. The script is
 * self-contained, since a program that starts in 150 ms is too slow to be asked at every press of a key.
 */
import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

type Place = {
  /** Subcommands so far, joined by a blank; empty at the top. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly { readonly flag: string; readonly description: string }[];
  /** What its arguments may be, as far as they are of a few. */
  readonly arguments: readonly string[];
  /** Options that take something, and what that may be; nothing: a file, a name. */
  readonly values: readonly { readonly flags: readonly string[]; readonly choices: readonly string[] }[];
};

export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program, '');
  if (shell === 'fish') return fish(places);
  const name = program.name();
  const bash = bashFunction(name, places);
  const start = shell === 'zsh' ? `#compdef ${name}\nautoload -U +X bashcompinit && bashcompinit\n` : '';
  // From a directory of $fpath it is read at the first press of the key, which wants an answer already.
  const first =
    shell === 'zsh' ? `[[ "\${funcstack[1]}" == _${name} ]] && _bash_complete -o default -F _${name}\n` : '';
  return `${start}${bash}complete -o default -F _${name} ${name}\n${first}`;
}

function placesOf(command: Command, path: string): Place[] {
  const commands = command.commands.map((one) => ({ name: one.name(), description: one.description() }));
  const options = command.options.flatMap(({ long, short, description }) =>
    [long, short].flatMap((flag) => (flag ? [{ flag, description }] : [])),
  );
  const help = { flag: '--help', description: 'what there is' };
  const values = command.options
    .filter(({ required, optional }) => required || optional)
    .map(({ long, short, argChoices = [] }) => ({
      flags: [long, short].flatMap((one) => one ?? []),
      choices: argChoices,
    }));
  const below = command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`.trim()));
  const args = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  return [{ path, commands, arguments: args, options: [...options, help], values }, ...below];
}

function bashFunction(name: string, places: readonly Place[]): string {
  const cases = places.map(({ path, commands, options, arguments: args }) => {
    const words = [...commands.map((one) => one.name), ...args, ...options.map((one) => one.flag)].join(' ');
    return `    '${path}') words='${words}' ;;`;
  });
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  const choices = places.flatMap(({ path, values }) =>
    values.flatMap(({ flags, choices: all }) =>
      flags.map((flag) => `    '${path} ${flag}') words='${all.join(' ')}' ;;`),
    ),
  );
  return `_${name}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path='' next='' word words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="\${path:+$path }$word"
    case "$next" in
    ${paths.join('|')}) path="$next" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  case "$path $prev" in
${choices.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
`;
}

function fish(places: readonly Place[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;
  const families = places.filter(({ path, commands }) => commands.length > 0 && path !== '' && !path.includes(' '));
  const lines = places.flatMap(({ path, commands, options, values, arguments: args }) => {
    const parts = path === '' ? [] : path.split(' ');
    // `lab status` is another one than `status`.
    const elsewhere = families.filter((family) => parts.length > 0 && family.path !== parts[0]);
    const seen = [
      ...parts.map((part) => `__fish_seen_subcommand_from ${part}`),
      ...elsewhere.map((family) => `not __fish_seen_subcommand_from ${family.path}`),
    ];
    const none =
      commands.length === 0 ? [] : [`not __fish_seen_subcommand_from ${commands.map((one) => one.name).join(' ')}`];
    const when = [...seen, ...none].join('; and ');
    const start = `complete -c enactor${when === '' ? '' : ` -n ${quoted(when)}`}`;
    const choicesOf = (flag: string): string => {
      const found = values.find(({ flags }) => flags.includes(flag));
      if (found === undefined) return '';
      return found.choices.length === 0 ? ' -r' : ` -x -a ${quoted(found.choices.join(' '))}`;
    };
    return [
      ...(args.length === 0 ? [] : [`${start} -f -a ${quoted(args.join(' '))}`]),
      ...commands.map((one) => `${start} -f -a ${one.name} -d ${quoted(one.description)}`),
      ...options.map(({ flag, description }) => {
        const kind = flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`;
        return `${start} ${kind} -d ${quoted(description)}${choicesOf(flag)}`;
      }),
    ];
  });
  return `${lines.join('\n')}\n`;
}
