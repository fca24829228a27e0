import { render } from 'preact'
import { App } from '#ui/dashboard/shell/app.tsx'
import { startLive } from '#ui/dashboard/live.ts'
import { startRouter } from '#ui/dashboard/router.ts'

startRouter()
startLive()
const root = document.querySelector('#app')
if (root) render(<App />, root)
