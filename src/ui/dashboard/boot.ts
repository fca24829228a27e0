import { beginSession } from '#ui/dashboard/first-session.ts'

// The first script is small: the session is requested while the browser loads the others.
beginSession()
