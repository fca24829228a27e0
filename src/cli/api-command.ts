import { Command, InvalidArgumentError, Option } from 'commander'
import type { Given } from '#cli/body.ts'
import { call, callSingleton, type CallOptions } from '#cli/call.ts'
import { addConnectionOptions } from '#cli/connection-options.ts'
import { collectionDoc, exampleOf, paramDoc } from '#cli/example.ts'
import { optionsOf } from '#cli/field-options.ts'
import { filterOptions } from '#cli/filters.ts'
import { dashed, flagsOf, type Flag } from '#cli/flags.ts'
import { formats } from '#cli/output.ts'
import { isList } from '#client/method.ts'
import { isPaged, operations, type Operation } from '#contract/operations.ts'
import { singletons, type Singleton } from '#contract/singletons.ts'

const AFTER_HELP = `
The key comes from --key-file, ADIT_API_KEY or the file api-key of the data
folder (ADIT_DATA_DIR), so in the server's folder no options are needed. Output
is a table on a terminal, and JSON elsewhere.

Exit codes: 0 success, 1 rejected, 2 wrong usage, 3 not found, 4 not allowed, 5
conflict, 69 unreachable or a server error, 75 rate limited, 130 interrupted.

Examples:
  $ adit api self
  $ adit api ip-policies create --description 'the office'
  $ adit api ip-policies list --output table
  $ adit api ip-policies delete ipp_2abcDEFghiJKLmnoPQRstuVWXyz
`

function count(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 1.')
}

/** The values of the fields, apart from options of the request itself. */
function givenIn(command: Command, flags: readonly Flag[]): Given {
  const values: Record<string, unknown> = command.opts()
  return new Map(
    flags.flatMap(({ field, flag }) => {
      const value = values[new Option(flag).attributeName()]
      return value === undefined ? [] : [[field, [value].flat().map(String)] as const]
    }),
  )
}

function addOperation(group: Command, operation: Operation): void {
  const flags = flagsOf(operation)
  const command = group.command(dashed(operation.word)).description(operation.summary)
  for (const param of operation.params) command.argument(`<${dashed(param)}>`, paramDoc(operation, param))
  for (const option of flags.flatMap(optionsOf)) command.addOption(option)
  if (operation.input)
    command.option('--json <file|-|{...}>', 'The whole body as JSON; flags override its fields.')
  if (operation.method === 'DELETE') command.option('-y, --yes', 'Do not ask for confirmation.')
  if (isList(operation) && isPaged(operation.kind)) {
    command.option('--limit <number>', 'Maximum number; all by default.', count)
    command.option('--before-id <id>', 'Only resources older than this id.')
    command.option(
      '--filter <expression>',
      'Only resources for which this CEL expression is true, such as obj.description == "shop".',
    )
    for (const option of filterOptions(operation.kind.filters ?? {})) command.addOption(option)
  }
  command.addHelpText('after', `\nExample:\n  $ ${exampleOf(operation)}`)
  command.action(() =>
    call(operation, command.args, givenIn(command, flags), command.optsWithGlobals<CallOptions>()),
  )
}

/** `adit api`: one command for each operation of the management API. */
export function apiCommand(): Command {
  const api = addConnectionOptions(new Command('api').description('Call the management API.'))
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .addOption(new Option('-o, --output <format>', 'Output format.').choices(formats))
    .option('-q, --quiet', 'Print only ids.')
    .addHelpText('after', AFTER_HELP)
  for (const [name, singleton] of Object.entries<Singleton>(singletons)) {
    const command = api.command(name).description(singleton.summary)
    for (const option of filterOptions(singleton.filters ?? {})) command.addOption(option)
    command.action(() => callSingleton(singleton, command.optsWithGlobals<CallOptions>()))
  }
  for (const [collection, all] of Map.groupBy(operations, operation => operation.collection)) {
    const group = api.command(dashed(collection)).description(collectionDoc(collection))
    for (const operation of all) addOperation(group, operation)
  }
  return api
}
