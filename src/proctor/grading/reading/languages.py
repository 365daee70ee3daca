"""The languages in which replies are read, as one table: what announces an answer, what closes it, and yes and no.

Every form is a regular expression in lower case, read without regard to case. `X` stands for the answer.
"""

# ruff: noqa: RUF001 - other scripts and full-width signs are data here
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """How one language states an answer.

    `cue` is what a prompt asks for before the colon; a text without any of the `stems` is not looked
    at for this language. `nouns` stand before a colon or, with one of
    `verbs` after them, before the answer; `before` are other phrases that end where the answer begins,
    `after` those that begin where a letter ends. `endings` may be written directly after a letter;
    `ordinals` are forms with a number for one of the options. `spaced` is False where words are not set apart.
    """

    code: str
    name: str
    cue: str
    stems: tuple[str, ...]
    nouns: str
    verbs: str
    before: str = ""
    after: str = ""
    endings: str = ""
    ordinals: str = ""
    option: str = ""
    either: str = ""  # joins alternatives
    negation: str = ""
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()
    true: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    letters: str = ""  # its own letters for A, B, C, ... where it has any
    spaced: bool = True


RIGHT = (
    r"(?:correct|right|best|final|true|accurate|appropriate|suitable|likely|probable|closest|chosen|selected"
    r"|proper)"
)

ENGLISH = Language(
    "en",
    "English",
    "Answer",
    (
        "answer",
        "ans",
        "option",
        "choice",
        "choose",
        "correct",
        "right",
        "select",
        "pick",
        "go with",
        "going",
        "opt for",
        "diagnosis",
    ),
    nouns=r"(?:answers?(?: choice| option| letter| key)?|ans|"
    rf"{RIGHT} (?:(?:and|or|most) {RIGHT} )?(?:options?|choices?|responses?|alternatives?|selection|solution"
    rf"|diagnosis|conclusion))",
    verbs=r"(?:(?:would|should|must|has to|have to|will|can only|could only|ought to)(?: therefore| thus| then)? be"
    r"|is|are"
    r"|(?:appears|seems) to be)"
    r"(?:,? (?:therefore|thus|hence|then|clearly|indeed|definitely|most likely|likely|probably|simply"
    r"|(?:option|choice|letter)(?! ?\d))\b,?)*",
    before=r"(?:i|we)(?: would| will|'d|'ll)?(?: have to| therefore| thus)? (?:choose|select|pick|go with|opt for"
    r"|vote for)"
    r"|i(?:'m| am) going (?:with|for)|let's (?:choose|select|pick|go with)|(?:so|thus|hence"
    r"|therefore),? (?:choose|select|pick)|my (?:choice|pick|selection|vote) (?:is|would be|=)"
    r"|(?:choice|option|selection) (?:is|would be|=)(?= ?\W{0,3}[a-z](?!\w))",
    after=rf"is(?! true)(?: (?:therefore|thus|clearly|indeed|definitely|likely|probably))?(?: the)?(?: (?:most|single"
    rf"|only))*(?: {RIGHT})"
    r"(?: (?:answer|option|choice|one|response|alternative|diagnosis|statement|explanation|cause))?\b(?! (?:in"
    r"|that|about|for|to|if|when|only|but)\b)"
    rf"|the {RIGHT} (?:answer|option|choice)\b"
    r"|is the (?:answer|one)\b|(?:seems|appears|looks) (?:to be )?(?:the )?(?:correct|right|best)\b",
    option=r"(?:option|choice|letter|answer|alternative)",
    either=r"(?:and/or|or|and)",
    negation=r"(?:not|never|neither|nor|isn't|anything but)",
    ordinals=r"(?:option|choice|answer|alternative|number) (?:number |no\. ?|#)?(?P<n>\d{1,2})"
    r"|(?:the )?(?P<w>first|second|third|fourth|fifth|sixth|last) (?:option|choice|answer|alternative|one)",
    yes=("yes",),
    no=("no",),
    maybe=("maybe",),
    true=("true",),
    false=("false",),
)

GERMAN = Language(
    "de",
    "German",
    "Antwort",
    ("antwort", "lösung", "richtig", "korrekt", "wähle", "entscheide"),
    nouns=r"(?:antwort(?:möglichkeit|option)?|lösung|(?:richtige|korrekte|beste) option)",
    verbs=r"(?:ist|lautet|wäre|muss sein)(?: daher| also| somit| demnach| folglich| option| antwort)?",
    before=(
        r"(?:richtig|korrekt) (?:ist|wäre)(?: option| antwort)?(?= [(\[*«]{0,3}[a-j](?!\w))"
        r"|ist die antwort(?= [(\[*«]{0,3}[a-j](?!\w))"
        r"|(?:richtige|korrekte|beste|endgültige) (?:antwort|lösung|option)(?= [(\[*«]{0,3}[a-z](?!\w))|(?:ich"
        r"|wir) (?:wähle|wählen|nehme|entscheide mich für)(?: option| antwort)?"
    ),
    after=r"(?:ist )?(?:daher |also |somit )?(?:die )?(?:richtig|korrekt|beste?)(?:e)?(?: antwort| option| lösung)?\b"
    r"|(?:wählen|nehmen)\b",
    option=r"(?:antwort|option|möglichkeit|auswahl|buchstabe)",
    either=r"(?:und|oder|und/oder|bzw\.)",
    negation=r"(?:nicht|kein\w*|weder)",
    yes=("ja",),
    no=("nein",),
    maybe=("vielleicht", "möglicherweise", "eventuell"),
    true=("wahr", "richtig"),
    false=("falsch", "unwahr"),
)

FRENCH = Language(
    "fr",
    "French",
    "Réponse",
    ("réponse", "reponse", "choisis", "correct", "juste", "bonne", "retiens", "exact"),
    nouns=(
        r"(?:(?:réponse|reponse)(?: correcte| finale| exacte| juste| choisie)?|(?:option|solution|proposition"
        r"|bonne) (?:correcte|exacte|juste|option))"
    ),
    verbs=r"(?:est|serait|doit être)(?: donc| alors| bien)?(?: l'option| la réponse| la lettre"
    r"| la proposition| la| le)?",
    before=(
        r"c'est (?:donc )?(?:la réponse|l'option|la lettre)|bonne réponse(?= [(\[*«]{0,3}[a-z](?!\w))|(?:je"
        r"|nous) (?:choisis|choisissons|sélectionne"
        r"|retiens)(?: l'option"
        r"| la réponse| l'alternative)?"
    ),
    after=r"(?:qui )?est (?:donc )?(?:la )?(?:bonne réponse|réponse correcte|bonne option|correcte?|exacte?|juste)\b",
    option=r"(?:l'option|option|réponse|choix|lettre|proposition)",
    either=r"(?:et|ou|et/ou)",
    negation=r"(?:pas|ni|non)",
    yes=("oui",),
    no=("non",),
    maybe=("peut-être", "peut être"),
    true=("vrai", "vraie"),
    false=("faux", "fausse"),
)

SPANISH = Language(
    "es",
    "Spanish",
    "Respuesta",
    ("respuesta", "opción", "opcion", "correct", "alternativa", "elijo", "selecciono", "escojo"),
    nouns=(
        r"(?:respuesta(?: correcta| final| adecuada| más adecuada| elegida)?|(?:opción|opcion|alternativa"
        r"|solución) (?:correcta|final|adecuada|más adecuada)|mejor opción|la correcta)"
    ),
    verbs=r"(?:es|sería|seria|debe ser)(?: por tanto| entonces)?(?: la opción| la letra| la alternativa| la)?",
    before=(
        r"respuesta correcta(?= [(\[*«]{0,3}[a-z](?!\w))|(?:elijo|escojo|selecciono|elegimos)(?: la opción"
        r"| la respuesta| la)?"
    ),
    after=r"es (?:la )?(?:opción |respuesta |alternativa )?correct[ao]\b|es la (?:respuesta|opción)\b",
    option=r"(?:la opción|opción|opcion|letra|alternativa|respuesta|inciso)",
    either=r"(?:y|o|u|y/o)",
    negation=r"(?:no|ni|tampoco)",
    yes=("sí", "si"),
    no=("no",),
    maybe=("quizás", "quizá", "tal vez"),
    true=("verdadero", "verdadera", "cierto"),
    false=("falso", "falsa"),
)

PORTUGUESE = Language(
    "pt",
    "Portuguese",
    "Resposta",
    ("resposta", "opção", "opcao", "corret", "alternativa", "escolho", "cert", "marco", "gabarito"),
    nouns=(
        r"(?:gabarito|resposta(?: correta| certa| final| adequada| mais adequada| escolhida)?"
        r"|(?:opção|opcao|alternativa"
        r"|solução) (?:correta|certa|final|mais adequada)|melhor opção)"
    ),
    verbs=r"(?:é|seria|deve ser)(?: portanto| então)?(?: a opção| a letra| a alternativa| a)?",
    before=(
        r"resposta correta(?= [(\[*«]{0,3}[a-z](?!\w))|(?:escolho|seleciono|escolhemos|marco)(?: a opção"
        r"| a alternativa"
        r"| a letra| a)?"
    ),
    after=r"(?:é|está) (?:a )?(?:opção |resposta |alternativa )?(?:corret[ao]|cert[ao])\b|é a (?:resposta|opção)\b",
    option=r"(?:a opção|opção|opcao|letra|alternativa|resposta)",
    either=r"(?:e|ou|e/ou)",
    negation=r"(?:não|nem)",
    yes=("sim",),
    no=("não", "nao"),
    maybe=("talvez",),
    true=("verdadeiro", "verdadeira"),
    false=("falso", "falsa"),
)

ITALIAN = Language(
    "it",
    "Italian",
    "Risposta",
    ("risposta", "opzione", "corrett", "giust", "esatt", "scelgo", "seleziono", "soluzione"),
    nouns=(
        r"(?:risposta(?: corretta| giusta| esatta| finale| migliore)?|(?:opzione|alternativa"
        r"|soluzione) (?:corretta|giusta|esatta|migliore)|migliore opzione|soluzione)"
    ),
    verbs=r"(?:è|e'|sarebbe|deve essere)(?: quindi| dunque)?(?: l'opzione| la lettera| la risposta| la)?",
    before=(
        r"risposta corretta(?= [(\[*«]{0,3}[a-z](?!\w))|(?:scelgo|seleziono|scegliamo)(?: l'opzione| la risposta"
        r"| la)?"
    ),
    after=r"è (?:quindi )?(?:la )?(?:risposta |opzione )?(?:corrett[ao]|giust[ao]|esatt[ao])\b|è la risposta\b",
    option=r"(?:l'opzione|opzione|lettera|alternativa|risposta)",
    either=r"(?:e|o|oppure|e/o)",
    negation=r"(?:non|né)",
    yes=("sì", "si"),
    no=("no",),
    maybe=("forse",),
    true=("vero", "vera"),
    false=("falso", "falsa"),
)

RUSSIAN = Language(
    "ru",
    "Russian",
    "Ответ",
    ("ответ", "вариант", "правильн", "верн", "выбира"),
    nouns=r"(?:ответ(?:ом)?|(?:правильный|верный) вариант(?: ответа)?)",
    verbs=r"(?:[-–—]|это|является|будет|:)(?: вариант| буква)?",
    before=(
        r"(?:правильн\w+|верн\w+) (?:ответ|вариант)(?= [(\[*«]{0,3}[a-z](?!\w))|(?:я )?(?:выбираю"
        r"|выбираем)(?: вариант"
        r"| ответ)?"
    ),
    after=r"(?:[-–—] |это |является )?(?:правильн|верн)\w+(?: ответ\w*| вариант\w*)?\b",
    option=r"(?:вариант|ответ|буква|пункт|опция)",
    either=r"(?:и|или|и/или)",
    negation=r"(?:не|ни)",
    yes=("да",),
    no=("нет",),
    maybe=("возможно", "может быть", "вероятно"),
    true=("верно", "правда", "истина"),
    false=("неверно", "ложь"),
)

ARABIC = Language(
    "ar",
    "Arabic",
    "الإجابة",
    ("جابة", "جواب", "خيار", "ختار", "ختيار", "صحيح"),
    nouns=(
        r"(?:(?:ال)?(?:إجابة|اجابة|جواب)(?: ال(?:صحيحة|صحيح|نهائية|نهائي|أفضل))?|(?:ال)?(?:خيار|اختيار) ال(?:صحيح"
        r"|أفضل|نهائي))"
    ),
    verbs=r"(?:هي|هو|ستكون|يكون)(?: الخيار| الإجابة| الحرف)?",
    before=r"(?:أختار|اختار|نختار)(?: الخيار| الإجابة)?",
    after=r"(?:هي |هو )(?:الإجابة |الجواب |الخيار )?(?:ال)?(?:صحيحة|صحيح)\b",
    option=r"(?:ال)?(?:خيار|إجابة|حرف)",
    either=r"(?:أو|او|و)",
    negation=r"(?:ليس|ليست|لا|غير)",
    yes=("نعم",),
    no=("لا",),
    maybe=("ربما", "ممكن"),
    true=("صحيح", "صح"),
    false=("خطأ", "خاطئ"),
    letters="أبجدهوزحطي",
)

HINDI = Language(
    "hi",
    "Hindi",
    "उत्तर",
    ("उत्तर", "जवाब", "विकल्प", "सही"),
    nouns=r"(?:उत्तर|जवाब|सही विकल्प)(?: विकल्प)?",
    verbs=r"(?:है|होगा|यह है|विकल्प)",
    after=r"(?:ही )?सही (?:उत्तर|विकल्प|जवाब)?\s?(?:है|होगा)",
    endings=r"(?:है|होगा)",
    option=r"(?:विकल्प|उत्तर)",
    either=r"(?:या|और)",
    negation=r"(?:नहीं|न)",
    yes=("हाँ", "हां"),
    no=("नहीं", "नही"),
    maybe=("शायद",),
    true=("सत्य", "सही"),
    false=("असत्य", "गलत"),
    letters="कखगघङ",
)

CHINESE = Language(
    "zh",
    "Chinese",
    "答案",
    ("答", "选", "選", "正确", "正確"),
    nouns=r"(?:(?:答案|回答|解答)(?:选项|選項)?|(?:正确|最佳|正確|最终|最終)的?(?:选项|選項|选择|選擇))",
    verbs=r"(?:应该是|应当是|应该为|應該是|应为|應為|应是|就是|是|为|為|选择|选|選)(?:选项|選項|第)?",
    before=(
        r"(?:故|应|應|因此|所以|我会|我會|我|综上|答|则|可)?,?(?:选择|選擇|选|選)(?:项|項|定|答案)?(?:选项"
        r"|選項)?(?!项|項)"
    ),
    after=r"(?:项|項|选项|選項)?(?:是|为)?(?:正确|正確|对|對|最佳)(?:的|答案|选项|選項)?",
    endings=r"(?:项|項|选项|選項|是正确|正确|选择|,|。|、)",
    ordinals=(
        r"第(?P<n>\d{1,2}|[一二三四五六七八九十])(?:个|個)?(?:选项|選項|项|項|个|個)?|(?:选项|選項)(?P<m>\d{1,2}"
        r"|[一二三四五六])"
    ),
    option=r"(?:选项|選項|选择|答案)",
    either=r"(?:和|或者|或|与|與|及|以及|、)",
    negation=r"(?:不是|不选|并非|非|不)",
    yes=("是", "是的", "对", "對", "正确"),
    no=("否", "不是", "不", "不对"),
    maybe=("也许", "可能", "或许", "不确定"),
    true=("真", "正确", "正確", "对", "是"),
    false=("假", "错误", "錯誤", "错", "不正确"),
    spaced=False,
)

JAPANESE = Language(
    "ja",
    "Japanese",
    "答え",
    ("答", "正", "選択肢", "適切"),
    nouns=r"(?:(?:答え|解答|回答|正解|正答|答)(?:番号)?|(?:正しい|適切な)選択肢)",
    verbs=r"(?:は、?|が|としては、?)(?:選択肢)?",
    before=r"(?:したがって|よって|ゆえに)、?(?:選択肢)(?=\s?[(（]?[a-z])",
    after=r"(?:が|は)(?:、)?(?:正解|正しい|正答|適切|最も適切|答え)",
    endings=r"(?:です|だ|である|になります|となります|が正解|が正しい|番|を選)",
    ordinals=r"(?:第)?(?P<n>\d{1,2}|[一二三四五六七八九十])(?:番目の選択肢|番目|番)|選択肢(?P<m>\d{1,2})",
    option=r"(?:選択肢|答え)",
    either=r"(?:または|もしくは|あるいは|および|と|か|、|・)",
    negation=r"(?:ではない|ではなく|でない)",
    yes=("はい", "そうです"),
    no=("いいえ", "いや"),
    maybe=("たぶん", "おそらく", "かもしれない", "多分"),
    true=("真", "正しい"),
    false=("偽", "誤り", "間違い"),
    letters="アイウエオ",
    spaced=False,
)

KOREAN = Language(
    "ko",
    "Korean",
    "정답",
    ("답", "선택지", "정답", "맞", "옳"),
    nouns=r"(?:(?:정답|답변|답안|답)(?:\s?번호)?|(?:올바른|맞는|옳은|적절한)\s?(?:선택지|보기|것))",
    verbs=r"(?:은|는|이|가)(?: 선택지| 바로| 보기)?",
    before=r"(?:따라서|그러므로),?\s?(?:선택지)(?=\s?\(?[a-z])",
    after=r"(?:번)?\s?(?:이|가|은|는)\s?(?:정답|맞(?!지)|옳(?!지)|올바(?!르지))",
    endings=r"(?:입니다|이다|번입니다|번이다|번|이에요|예요|가 정답|이 정답|를 선택|을 선택|이 맞|가 맞)",
    ordinals=(
        r"(?:보기|선택지)?\s?(?P<n>\d{1,2})\s?번(?:째)?(?: 선택지| 보기)?|(?P<w>첫|두|세|네|다섯) ?번째(?: 선택지"
        r"| 보기)?"
    ),
    option=r"(?:선택지|보기|답)",
    either=r"(?:또는|혹은|이나|나|와|과|및|이거나)",
    negation=r"(?:아니|아닌|않)",
    yes=("예", "네", "그렇습니다", "그렇다"),
    no=("아니오", "아니요", "아닙니다", "아니다"),
    maybe=("아마도", "아마", "어쩌면"),
    true=("참", "맞습니다", "사실"),
    false=("거짓", "틀립니다"),
    letters="가나다라마바사아자차",
    spaced=False,
)

LANGUAGES: tuple[Language, ...] = (
    ENGLISH,
    GERMAN,
    FRENCH,
    SPANISH,
    PORTUGUESE,
    ITALIAN,
    RUSSIAN,
    ARABIC,
    HINDI,
    CHINESE,
    JAPANESE,
    KOREAN,
)

# "the second option", "两": words for numbers in the ordinals above.
NUMBERS: Mapping[str, int] = {
    **{word: n for n, word in enumerate(("first", "second", "third", "fourth", "fifth", "sixth"), 1)},
    **{word: n for n, word in enumerate("一二三四五六七八九十", 1)},
    **{word: n for n, word in enumerate(("첫", "두", "세", "네", "다섯"), 1)},
    "last": -1,
}

# Capital letters of other scripts that look like the letters A, B, C, E, H that the prompt shows.
LOOK_ALIKES: Mapping[int, int] = str.maketrans("АВСЕНΑΒΕΗ", "ABCEHABEH")
