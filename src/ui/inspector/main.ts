import { byId, element } from '#ui/element.ts'
import {
  clearAll,
  follow,
  loadDetail,
  loadReason,
  loadStatus,
  loadTunnels,
  replay,
} from '#ui/inspector/api.ts'
import type { Detail, Summary } from '#ui/captured.ts'
import { asCurl } from '#ui/curl.ts'
import { detailView } from '#ui/inspector/detail-view.ts'
import { candidatesFor, diffDialog } from '#ui/inspector/diff-view.ts'
import { editDialog } from '#ui/inspector/edit-view.ts'
import { filterOf } from '#ui/inspector/filter.ts'
import { asHar } from '#ui/har.ts'
import { onKeys, type KeyBinding } from '#ui/inspector/keys.ts'
import { ListView } from '#ui/inspector/list-view.ts'

const MAX_KEPT = 1000
const REFRESH_MS = 5000
const TOAST_MS = 4000

const filter = byId('filter') as HTMLInputElement
const summaries = new Map<string, Summary>()
const list = new ListView(byId('list'), id => void choose(id))
let current: Detail | undefined
let chosen = ''
let isScheduled = false
let following = true

/** The newest first. */
const newest = (): Summary[] =>
  [...summaries.values()].toSorted((left, right) => (left.id < right.id ? 1 : -1))

function render(): void {
  isScheduled = false
  const all = newest()
  const shown = all.filter(filterOf(filter.value))
  list.show(shown)
  byId('count').textContent =
    filter.value.trim() === '' ? `${all.length} requests` : `${shown.length} of ${all.length} requests`
  byId('empty').hidden = all.length > 0
}

/** However many changes arrive, the page is drawn once per frame. */
function schedule(): void {
  if (isScheduled || !following) return
  isScheduled = true
  requestAnimationFrame(render)
}

function toast(text: string): void {
  const shown = element('div', { class: 'toast' }, text)
  byId('toasts').append(shown)
  setTimeout(() => shown.remove(), TOAST_MS)
}

/** Runs an action and shows why it failed. */
function act(work: () => Promise<void>): void {
  work().catch((error: unknown) => toast(error instanceof Error ? error.message : String(error)))
}

async function choose(id: string): Promise<void> {
  chosen = id
  list.mark(id)
  try {
    const detail = await loadDetail(id)
    // The details of an earlier choice may arrive later.
    if (chosen === id) show(detail)
  } catch (error) {
    if (chosen !== id) return
    current = undefined
    byId('detail').replaceChildren(
      element('p', { class: 'hint' }, error instanceof Error ? error.message : ''),
    )
  }
}

function show(detail: Detail): void {
  current = detail
  const actions = {
    replay: sendAgain,
    edit,
    diff,
    curl: copyCurl,
    open: (id: string) => void choose(id),
    reason: loadReason,
  }
  byId('detail').replaceChildren(detailView(detail, actions))
}

function sendAgain(): void {
  const { id } = current ?? {}
  if (id !== undefined) act(async () => replay(id).then(() => toast('Replayed')))
}

function openDialog(dialog: HTMLDialogElement): void {
  document.body.append(dialog)
  dialog.showModal()
}

function edit(): void {
  const detail = current
  if (detail)
    openDialog(
      editDialog(detail, edited => act(async () => replay(detail.id, edited).then(() => toast('Sent')))),
    )
}

function diff(): void {
  if (current) openDialog(diffDialog(current, candidatesFor(current, newest()), loadDetail))
}

function copyCurl(): void {
  const detail = current
  if (detail) act(async () => navigator.clipboard.writeText(asCurl(detail)).then(() => toast('Copied')))
}

/** Downloads the filtered exchanges. */
async function exportHar(): Promise<void> {
  const shown = newest().filter(filterOf(filter.value))
  const details = await Promise.all(shown.map(({ id }) => loadDetail(id)))
  const url = URL.createObjectURL(new Blob([JSON.stringify(asHar(details))], { type: 'application/json' }))
  element('a', { href: url, download: 'requests.har' }).click()
  setTimeout(() => URL.revokeObjectURL(url), TOAST_MS)
}

function pause(): void {
  following = !following
  byId('pause').textContent = following ? 'Pause' : 'Continue'
  schedule()
}

const clear = (): void => act(clearAll)
const har = (): void => act(exportHar)
const help = byId('help') as HTMLDialogElement

const keys: readonly KeyBinding[] = [
  { keys: ['j', 'ArrowDown'], help: 'next request', press: () => list.move(1) },
  { keys: ['k', 'ArrowUp'], help: 'previous request', press: () => list.move(-1) },
  { keys: ['/'], help: 'filter', press: () => filter.focus() },
  { keys: ['r'], help: 'replay', press: sendAgain },
  { keys: ['e'], help: 'edit and replay', press: edit },
  { keys: ['d'], help: 'response diff', press: diff },
  { keys: ['c'], help: 'copy as curl', press: copyCurl },
  { keys: ['h'], help: 'export as HAR', press: har },
  { keys: ['p'], help: 'pause or continue', press: pause },
  { keys: ['X'], help: 'clear all requests', press: clear },
  { keys: ['?'], help: 'this help', press: () => help.showModal() },
]

function accept(changed: readonly Summary[]): void {
  for (const summary of changed) summaries.set(summary.id, summary)
  for (const { id } of newest().slice(MAX_KEPT)) summaries.delete(id)
  const isShown = changed.some(({ id }) => id === current?.id)
  if (isShown && current) void choose(current.id)
  schedule()
}

async function refresh(): Promise<void> {
  const [status, tunnels] = await Promise.all([loadStatus(), loadTunnels()])
  byId('status').textContent = status
  byId('status').className = status
  byId('tunnels').replaceChildren(
    ...tunnels.map(({ public_url: url, config }) =>
      element(
        'span',
        {},
        element('a', { href: url, target: '_blank', rel: 'noreferrer' }, url),
        ` → ${config.addr}`,
      ),
    ),
  )
}

filter.addEventListener('input', schedule)
filter.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') filter.value = ''
  if (key === 'Escape' || key === 'Enter') filter.blur()
  schedule()
})
byId('clear').addEventListener('click', clear)
byId('har').addEventListener('click', har)
byId('pause').addEventListener('click', pause)
byId('keys').addEventListener('click', () => help.showModal())
byId('help-list').replaceChildren(
  ...keys.flatMap(({ keys: names, help: text }) => [
    element('dt', {}, ...names.map(name => element('kbd', {}, name))),
    element('dd', {}, text),
  ]),
)
onKeys(keys)
follow({
  list: all => {
    summaries.clear()
    accept(all)
  },
  change: accept,
  connected: isConnected => byId('offline').toggleAttribute('hidden', isConnected),
})
act(refresh)
setInterval(() => act(refresh), REFRESH_MS)
