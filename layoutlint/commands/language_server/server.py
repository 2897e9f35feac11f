"""The server of the protocol: events of the editor, and its questions."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from click import ClickException
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from layoutlint import __version__, escapes
from layoutlint.commands.language_server import actions, diagnostics, rule_texts, views
from layoutlint.commands.language_server.documents import OpenDocument, path_of
from layoutlint.commands.language_server.markup import Markup
from layoutlint.commands.language_server.messages import Messages
from layoutlint.commands.language_server.requests import (
    Accept,
    Accepted,
    Failure,
    Settings,
    Suggest,
    Suggested,
)
from layoutlint.commands.language_server.session import Session
from layoutlint.commands.language_server.views import ViewSettings
from layoutlint.errors import LayoutlintError
from layoutlint.model.record import replace

_WATCHED = ("**/layoutlint.toml", "**/compile_commands.json", "**/compile_flags.txt", "**/*.h")

_MOST_DELAY = 60_000
"""The most milliseconds without an edit before a text is judged."""

_COMMAND_ARGUMENTS = 3
"""The document, the rule and the struct."""


class _Protocol(LanguageServerProtocol):
    """The protocol of pygls (2.1.1), with answers to all requests, also to wrong ones."""

    _is_initialized = False
    status = 0
    """The exit status: 1 after an `exit` without `shutdown`."""

    def handle_message(self, message: Any) -> None:
        """Handle a message; refuse requests, and ignore notifications, where none of their kind may come."""
        method = getattr(message, "method", None)
        is_first = not self._is_initialized
        self._is_initialized |= method == types.INITIALIZE
        self.status = 1 if method == types.EXIT and not self._shutdown else 0
        is_served = not self._shutdown and is_first == (method == types.INITIALIZE)
        if is_served or method == types.EXIT:
            super().handle_message(message)
        elif method is not None and hasattr(message, "id"):
            is_early = is_first and not self._shutdown
            reason = JsonRpcServerNotInitialized() if is_early else JsonRpcInvalidRequest()
            self._send_response(message.id, error=reason.to_response_error())

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]
        self, params: types.ExecuteCommandParams
    ) -> None:
        """Run a command; that of pygls goes on after the editor cancels it, and edits the text then."""
        command, arguments = self.fm.commands.get(params.command), params.arguments or []
        if command is None or len(arguments) != _COMMAND_ARGUMENTS:
            raise JsonRpcInvalidParams
        await command(*map(str, arguments))

    def _check_handler_result(self, future: Any) -> None:
        """Drop the future of a notification, which pygls would keep: texts that change add up."""
        super()._check_handler_result(future)
        futures = self._request_futures
        for identity in [identity for identity, each in futures.items() if each is future]:
            del futures[identity]

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return a message; answer a request with wrong parameters, which pygls leaves without an answer."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                is_known = self.get_message_type(data["method"]) is not None
                reason = error if is_known else JsonRpcMethodNotFound.of(data["method"])
                self._send_response(data["id"], error=reason.to_response_error())
            raise


class Server(LanguageServer):
    """The language server of one editor."""

    protocol: _Protocol

    def __init__(self, settings: Settings) -> None:
        kind = types.TextDocumentSyncKind.Full
        super().__init__("layoutlint", __version__, kind, protocol_cls=_Protocol)
        self.session = Session(settings, os.getcwd(), self._publish)
        self.views = ViewSettings()

    @property
    def encoding(self) -> str:
        """The encoding by which the client counts columns."""
        return self.workspace.position_encoding or types.PositionEncodingKind.Utf16

    @property
    def markup(self) -> Markup:
        """How the client wants pages: the first way that it names; plain text if it names none."""
        texts = self.client_capabilities.text_document
        formats = texts.hover.content_format if texts is not None and texts.hover is not None else None
        first = next((each for each in formats or () if each in tuple(types.MarkupKind)), None)
        return Markup(is_plain=first is not types.MarkupKind.Markdown)

    def document(self, uri: str) -> OpenDocument | None:
        """Return an open file; None for one that the server does not know."""
        return self.session.documents.get(uri)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Show an error in the editor; answer what is no JSON as JSON-RPC demands."""
        if source is JsonRpcException and isinstance(error, ValueError):
            error_values = {"code": JsonRpcParseError.CODE, "message": JsonRpcParseError.MESSAGE}
            self.protocol._send_data({"jsonrpc": "2.0", "id": None, "error": error_values})
        super().report_server_error(error, source)

    def _publish(self, document: OpenDocument) -> Callable[[], None]:
        """Return what publishes the result for a document as it is now."""
        if document.is_rules:
            rows = self.session.rows.get(document.uri, ())
            messages = diagnostics.rule_file_diagnostics(document, rows, self.encoding)
        else:
            messages = diagnostics.document_diagnostics(document, self.encoding)
        given = types.PublishDiagnosticsParams(document.uri, messages, document.version)

        def send() -> None:
            self.text_document_publish_diagnostics(given)
            self.refresh_views()

        return send

    def refresh_views(self) -> None:
        """Ask the client to ask again for hints and lenses, if it can."""
        workspace = self.client_capabilities.workspace
        if workspace is None:
            return
        if workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)
        if workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    def say(self, text: str) -> None:
        """Show a message in the editor."""
        self.window_show_message(
            types.ShowMessageParams(types.MessageType.Info, f"layoutlint: {escapes.inline(text)}")
        )

    def configure(self, given: object) -> None:
        """Take the settings of a client, if it sends any; what is missing or wrong has its default."""
        own = given.get("layoutlint", given) if isinstance(given, dict) else None
        if not isinstance(own, dict):
            return
        hints = own.get("inlayHints")
        self.views = ViewSettings(
            hints if hints in ("all", "lines", "off") else ViewSettings().inlay_hints,
            own.get("codeLens") is not False,
            own.get("hover") is not False,
        )
        delay = own.get("delay")
        if isinstance(delay, int | float) and 0 <= delay <= _MOST_DELAY:
            self.session.delay = delay / 1000


def serve(settings: Settings) -> None:
    """Serve an editor on the standard streams until it ends the session.

    What libraries print goes to stderr: stdout is for messages of the protocol alone. The log of pygls has
    nothing that the editor is not told, but tracebacks.
    """
    if not os.environ.get("LAYOUTLINT_DEBUG"):
        logging.getLogger("pygls").setLevel(logging.CRITICAL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # pygls would wait for the next message
    requests, responses = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    server = Server(settings)
    register(server)
    register_views(server)
    register_edits(server)
    server.start_io(Messages(requests), responses)  # type: ignore[arg-type]  # all that it calls
    if server.protocol.status:
        sys.exit(server.protocol.status)


def register(server: Server) -> None:
    """Register the events that a server handles."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.configure(params.initialization_options)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        server.configure(params.settings)
        server.refresh_views()

    @server.feature(types.INITIALIZED)
    def begin(_: types.InitializedParams) -> None:
        root = server.workspace.root_uri
        path = path_of(root, server.session.settings.folder) if root else None
        if path is not None and os.path.isdir(path):
            server.session.settings = replace(server.session.settings, folder=path)
        _watch_files(server)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        server.session.open(item.uri, str(item.language_id), item.text, item.version)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.session.change(
            uri, server.workspace.get_text_document(uri).source, params.text_document.version
        )

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.session.judge_all()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.session.close(uri)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        if any(change.uri not in server.session.documents for change in params.changes):
            server.session.judge_all()

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: Any) -> None:
        await server.session.end()


def register_views(server: Server) -> None:
    """Register the questions that a server answers from the last good layouts."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        document = server.document(params.text_document.uri)
        if document is None or not server.views.hover:
            return None
        if document.is_rules:
            return rule_texts.hover(document, params.position, server.encoding, server.markup)
        return views.hover(document, params.position, server.encoding, server.markup)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        document = server.document(params.text_document.uri)
        if document is None or server.views.inlay_hints == "off":
            return []
        return views.inlay_hints(document, params.range, server.encoding, server.views)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        document = server.document(params.text_document.uri)
        if document is None or not server.views.code_lens:
            return []
        return views.lenses(document, server.encoding)


def register_edits(server: Server) -> None:
    """Register completion in rule files, and what changes texts on request."""

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=['"', ".", "@"])
    )
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        document = server.document(params.text_document.uri)
        if document is None or not document.is_rules:
            return []
        others = list(server.session.documents.values())
        return rule_texts.completion(document, params.position, server.encoding, others)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.document(params.text_document.uri)
        if document is None or document.is_rules:
            return []
        return actions.actions(document, params.range, server.encoding, server.session.settings.baseline)

    @server.command(actions.ACCEPT)
    async def accept(uri: str, rule: str, struct: str) -> None:
        await _accept(server, uri, rule, struct)

    @server.command(actions.SUGGEST)
    async def suggest(uri: str, rule: str, struct: str) -> None:
        await _suggest(server, uri, rule, struct)


async def _accept(server: Server, uri: str, rule: str, struct: str) -> None:
    """Add a finding to the baseline on disk."""
    document = server.document(uri)
    if document is None:
        return
    response = await server.session.worker.answer(Accept(server.session.request_for(document), rule, struct))
    if isinstance(response, Accepted) and response.path:
        from layoutlint.commands import output_files

        try:
            output_files.write_whole(response.path, response.text)
        except (LayoutlintError, ClickException) as error:
            server.say(str(error))
        server.session.judge_all()
    elif isinstance(response, Failure):
        server.say(response.reason)


async def _suggest(server: Server, uri: str, rule: str, struct: str) -> None:
    """Reorder the members of a struct as `check --suggest` would; the search takes seconds."""
    document = server.document(uri)
    if document is None:
        return
    if not document.is_saved:
        server.say(f"Save {document.name} first: the search reads all files as they are on disk.")
        return
    request = Suggest(document.path, rule, struct, server.session.settings)
    text = document.text
    response = await server.session.slow_worker.answer(request)
    if isinstance(response, Failure):
        server.say(response.reason)
    elif not isinstance(response, Suggested) or response.fix is None:
        server.say(f"There is no safe order of the members of {struct} that keeps {rule}.")
    elif response.path != document.real_path or document.text != text:
        server.say(f"{document.name} was edited during the search, or {struct} is in another file.")
    else:
        edit = actions.edit_of(response.fix, document, server.encoding)
        label = response.fix.description
        server.workspace_apply_edit(types.ApplyWorkspaceEditParams(edit, label))


def _watch_files(server: Server) -> None:
    """Ask the client to report changes of files on disk, if it can."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace is not None else None
    if watched is None or not watched.dynamic_registration:
        return
    watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in _WATCHED]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
    registration = types.Registration("layoutlint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    server.client_register_capability(types.RegistrationParams([registration]))
