import { trafficTypes } from '#contract/events/field-names.ts'
import { trafficFields, type TrafficField, type TrafficType } from '#contract/events/traffic-fields.ts'
import type { FieldLine } from '#reference/fields.ts'
import { introduction, type Chapter } from '#reference/intro.ts'
import { reference, type CollectionEntry, type Group, type OperationLine } from '#reference/model.ts'

/** A table cell: one line, with Markdown characters escaped. */
const cell = (text: string): string =>
  text.replace(/[\\|<>*_]/g, character => `\\${character}`).replaceAll('\n', ' ')

/** Code as a cell; a bar would end the cell even inside code. */
const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``

export const markdownTable = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  [headings, headings.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |\n`).join('')

const block = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\`\n`

export const generated = (title: string, content: string): string =>
  `<!-- Written by "npm run docs"; do not edit. -->\n\n# ${title}\n\n${content.trim()}\n`

function fieldCells(field: FieldLine): string[] {
  const { name, writtenAs, type, doc, when, fallback, limits, secret } = field
  const rules = [
    when,
    ...(writtenAs === undefined ? [] : [`written as ${code(writtenAs)}`]),
    ...(fallback === undefined ? [] : [`default ${code(fallback)}`]),
    ...limits.map(cell),
  ]
  const meaning = [doc, secret ?? ''].filter(Boolean).join(' ')
  return [code(name), cell(type), rules.join('; '), cell(meaning)]
}

const fieldTable = (fields: readonly FieldLine[]): string =>
  markdownTable(['Field', 'Type', 'Rules', 'Meaning'], fields.map(fieldCells))

const operationTable = (operations: readonly OperationLine[]): string =>
  markdownTable(
    ['Request', 'Description', 'Body', 'Response'],
    operations.map(({ method, path, summary, body, answer }) => [
      code(`${method} ${path}`),
      cell(summary),
      body,
      cell(answer),
    ]),
  )

function modulesOf({ modules }: CollectionEntry): string {
  if (modules.length === 0) return ''
  const rows = modules.map(({ name, path, module }) => [`[${code(name)}](modules.md#${module})`, code(path)])
  return `### Modules

Each is null until it is set. PUT replaces a module, GET reads it, DELETE removes it. Modules can also be set when the resource is created or changed.

${markdownTable(['Module', 'Path'], rows)}
`
}

function collection(entry: CollectionEntry): string {
  const { title, doc, prefix, notes, operations, fields, events, example } = entry
  const facts = [...(prefix === undefined ? [] : [`Ids start with \`${prefix}_\`.`]), ...notes]
  return `## ${title}

${[doc, ...facts].join(' ')}

${block('sh', example)}
${operationTable(operations)}
${fieldTable(fields)}
${modulesOf(entry)}
${events.length === 0 ? '' : `Events: ${events.map(code).join(', ')}.`}
`.replace(/\n{3,}/g, '\n\n')
}

const groupFile = ({ title, doc, collections }: Group): string =>
  generated(title, `${doc}\n\n${collections.map(collection).join('\n')}`)

const chapter = ({ title, text, code: example }: Chapter): string =>
  `## ${title}\n\n${text.join('\n\n')}\n\n${example === undefined ? '' : `${block('', example)}\n`}`

/** The anchor that GitHub and other Markdown renderers give to a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

const fileOf = (id: string): string =>
  `${reference.groups.find(({ collections }) => collections.some(each => each.id === id))?.id ?? ''}.md`

function indexFile(): string {
  const contents = reference.groups.map(({ id, title, doc, collections }) => {
    const links = collections.map(each => `[${each.title}](${id}.md#${anchorOf(each.title)})`)
    return [`[${title}](${id}.md)`, cell(doc), links.join(', ')]
  })
  return generated(
    'Management API reference',
    `${markdownTable(['Group', 'Content', 'Collections'], contents)}
Also: [modules](modules.md), [errors](errors.md), [event types](events.md), [server settings](settings.md), and an [OpenAPI 3.1](../openapi.json) document. A running server serves this reference at \`/docs\`.

${introduction.map(chapter).join('')}## Root, self, status, usage and sign-in

${operationTable(reference.singletons)}`,
  )
}

function modulesFile(): string {
  const parts = reference.modules.map(({ id, title, doc, fields, usedBy }) => {
    const places = usedBy.map(({ collection: of, title: name, as }) => {
      return `[${name}](${fileOf(of)}#${anchorOf(name)}) as \`${as}\``
    })
    return `<a id="${id}"></a>\n\n## ${title}\n\n${doc} Part of ${places.join(', ')}.\n\n${fieldTable(fields)}`
  })
  const what = 'Modules process the traffic of an edge, a route or an endpoint configuration.'
  return generated('Modules', [what, ...parts].join('\n\n'))
}

function errorsFile(): string {
  const rows = reference.errors.map(({ code: name, status, text }) => {
    return [name === '' ? '' : code(name), String(status), cell(text)]
  })
  return generated(
    'Errors',
    `Words in braces are placeholders. A client that sends \`Ngrok-Version\` gets \`ERR_NGROK_\` with the same number. Numbers from 90001 on are Adit's own. A published number never changes its meaning.

${markdownTable(['Code', 'Status', 'Message'], rows)}`,
  )
}

function eventsFile(): string {
  const rows = reference.groups
    .flatMap(({ collections }) => collections)
    .filter(entry => entry.events.length > 0)
    .map(entry => [
      `[${entry.title}](${fileOf(entry.id)}#${anchorOf(entry.title)})`,
      entry.events.map(code).join(', '),
    ])
  const others = reference.otherEvents.map(type => `- \`${type}\``).join('\n')
  return generated(
    'Event types',
    `Every change of a resource is recorded as an event, in the same transaction as the change. See [events](../events.md) for their delivery.

${markdownTable(['Collection', 'Types'], rows)}
Subscriptions may also name these. The first four come from the gateway; the others exist for clients that know them, and never occur.

${others}

## Fields of traffic

A source of these types can select fields and filter by some of them. Those marked "if selected" are sent only if a source names them.

${trafficTypes.map(trafficFieldTable).join('\n')}`,
  )
}

function trafficFieldTable(type: TrafficType): string {
  const rows = Object.entries<TrafficField>(trafficFields[type]).map(([name, field]) => {
    const rules = [
      ...(field.filter ? ['can be filtered by'] : []),
      ...(field.onRequest ? ['if selected'] : []),
    ]
    return [code(name), field.type.replace('_', ' or '), rules.join('; '), cell(field.doc)]
  })
  return `### ${type}\n\n${markdownTable(['Field', 'Type', 'Rules', 'Meaning'], rows)}`
}

/** Every generated file of the reference, by its name. */
export const markdownFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['README.md', indexFile()],
    ...reference.groups.map((group): [string, string] => [`${group.id}.md`, groupFile(group)]),
    ['modules.md', modulesFile()],
    ['errors.md', errorsFile()],
    ['events.md', eventsFile()],
  ])
