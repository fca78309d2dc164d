// A client of the WebSocket protocol, with nothing but what Node has. It comes twice: first to see what waits, then to
// decide. Each line that it prints is one message that it got.
const [url, decisions] = process.argv.slice(2);
const decide = JSON.parse(decisions);
const wanted = Object.keys(decide).length;

function connect(onMessage) {
  const ws = new WebSocket(url);
  ws.onerror = (e) => { console.error("error", e.message ?? e); process.exit(1); };
  ws.onmessage = (e) => { console.log(e.data); onMessage(ws, JSON.parse(e.data)); };
  return ws;
}

function first() {
  const seen = [];
  connect((ws, m) => {
    if (m.type !== "agent_tool_permission_request") return;
    seen.push(m.data.execution_id);
    if (seen.length === wanted) {
      ws.onclose = () => second(seen);
      ws.close();
    }
  }).onopen = (e) => e.target.send(JSON.stringify({ type: "get_agent_status", data: {} }));
}

function second(before) {
  const again = [];
  connect((ws, m) => {
    if (m.type === "agent_run_result") { ws.close(); return; }
    if (m.type !== "agent_tool_permission_request") return;
    again.push(m.data.execution_id);
    if (again.length !== wanted) return;
    if ([...again].sort().join() !== [...before].sort().join()) { console.error("others came back"); process.exit(1); }
    ws.send(JSON.stringify({ type: "chat", data: { text: "sure" } }));
    for (const id of again) for (const wrong of [{}, { execution_id: id }, { execution_id: id, approved: "no" }]) {
      ws.send(JSON.stringify({ type: "agent_tool_permission_response", data: wrong }));
    }
    for (const [text, approved] of Object.entries(decide)) sendFor(ws, text, approved);
  });
}

const byCommand = {};
function sendFor(ws, text, approved) {
  ws.send(JSON.stringify({ type: "agent_tool_permission_response", data: { execution_id: byCommand[text], approved } }));
}
const log = console.log;
console.log = (line) => {
  const m = JSON.parse(line);
  if (m.type === "agent_tool_permission_request") byCommand[m.data.parameters.command] = m.data.execution_id;
  log(line);
};
first();
