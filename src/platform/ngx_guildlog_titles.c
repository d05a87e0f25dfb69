
/*
 * One row a language, in the order of their numbers.
 */

#include "platform/ngx_guildlog_titles.h"


typedef struct {
    const char *const             *titles;
    const char                    *labels[NGX_GUILDLOG_LABELS];
} ngx_guildlog_locale_t;


/*
 * Labels in the order of ngx_guildlog_label_e.  "and N more" is worded such
 * that no number needs another form of it.
 */

static const ngx_guildlog_locale_t
    ngx_guildlog_locales[NGX_GUILDLOG_LOCALES] =
{
    { ngx_guildlog_titles_en_us,
      { "Executor", "Target", "Channel", "Role", "Name", "Reason", "Count",
        "Emoji", "Action", "Value", "Attachments", "Before", "After",
        "Messages", "and %ui more", "Dashboard or API", "Support server",
        "Customize" } },

    { ngx_guildlog_titles_en_gb,
      { "Executor", "Target", "Channel", "Role", "Name", "Reason", "Count",
        "Emoji", "Action", "Value", "Attachments", "Before", "After",
        "Messages", "and %ui more", "Dashboard or API", "Support server",
        "Customise" } },

    { ngx_guildlog_titles_tr,
      { "Yapan", "Hedef", "Kanal", "Rol", "Ad", "Sebep", "Sayı", "Emoji",
        "Eylem", "Değer", "Ekler", "Önce", "Sonra", "Mesajlar",
        "ve %ui tane daha", "Panel veya API", "Destek sunucusu",
        "Özelleştir" } },

    { ngx_guildlog_titles_vi,
      { "Người thực hiện", "Đối tượng", "Kênh", "Vai trò", "Tên", "Lý do",
        "Số lượng", "Emoji", "Hành động", "Giá trị", "Tệp đính kèm", "Trước",
        "Sau", "Tin nhắn", "và %ui mục nữa", "Bảng điều khiển hoặc API",
        "Máy chủ hỗ trợ", "Tùy chỉnh" } },

    { ngx_guildlog_titles_en_pr,
      { "Scallywag", "Victim", "Cabin", "Rank", "Name", "Excuse", "Tally",
        "Doodle", "Deed", "Worth", "Loot", "Afore", "Arrr-fter", "Messages",
        "and %ui more, arrr", "Captain's quarters", "Safe harbor",
        "Trim the sails" } },

    { ngx_guildlog_titles_pl,
      { "Wykonawca", "Cel", "Kanał", "Rola", "Nazwa", "Powód", "Liczba",
        "Emoji", "Działanie", "Wartość", "Załączniki", "Przed", "Po",
        "Wiadomości", "i jeszcze %ui", "Panel lub API", "Serwer wsparcia",
        "Dostosuj" } },

    { ngx_guildlog_titles_nl,
      { "Uitvoerder", "Doel", "Kanaal", "Rol", "Naam", "Reden", "Aantal",
        "Emoji", "Actie", "Waarde", "Bijlagen", "Voor", "Na", "Berichten",
        "en nog %ui", "Dashboard of API", "Supportserver", "Aanpassen" } },

    { ngx_guildlog_titles_es,
      { "Ejecutor", "Objetivo", "Canal", "Rol", "Nombre", "Motivo", "Cantidad",
        "Emoji", "Acción", "Valor", "Archivos adjuntos", "Antes", "Después",
        "Mensajes", "y %ui más", "Panel o API", "Servidor de soporte",
        "Personalizar" } },

    { ngx_guildlog_titles_it,
      { "Esecutore", "Destinatario", "Canale", "Ruolo", "Nome", "Motivo",
        "Numero", "Emoji", "Azione", "Valore", "Allegati", "Prima", "Dopo",
        "Messaggi", "e altri %ui", "Dashboard o API", "Server di supporto",
        "Personalizza" } },

    { ngx_guildlog_titles_de,
      { "Ausführender", "Ziel", "Kanal", "Rolle", "Name", "Grund", "Anzahl",
        "Emoji", "Aktion", "Wert", "Anhänge", "Vorher", "Nachher",
        "Nachrichten", "und %ui weitere", "Dashboard oder API",
        "Support-Server", "Anpassen" } },

    { ngx_guildlog_titles_fr,
      { "Auteur", "Cible", "Salon", "Rôle", "Nom", "Raison", "Nombre", "Émoji",
        "Action", "Valeur", "Pièces jointes", "Avant", "Après", "Messages",
        "et %ui de plus", "Tableau de bord ou API", "Serveur d'assistance",
        "Personnaliser" } },

    { ngx_guildlog_titles_ru,
      { "Исполнитель", "Цель", "Канал", "Роль", "Имя", "Причина",
        "Количество", "Эмодзи", "Действие", "Значение", "Вложения", "До",
        "После", "Сообщения", "и ещё %ui", "Панель управления или API",
        "Сервер поддержки", "Настроить" } },

    { ngx_guildlog_titles_el,
      { "Εκτελεστής", "Στόχος", "Κανάλι", "Ρόλος", "Όνομα", "Αιτία", "Πλήθος",
        "Emoji", "Ενέργεια", "Τιμή", "Συνημμένα", "Πριν", "Μετά", "Μηνύματα",
        "και %ui ακόμη", "Πίνακας ελέγχου ή API", "Διακομιστής υποστήριξης",
        "Προσαρμογή" } },

    { ngx_guildlog_titles_zh,
      { "執行者", "對象", "頻道", "身分組", "名稱", "原因", "數量", "表情符號",
        "動作", "值", "附件", "之前", "之後", "訊息", "還有 %ui 項",
        "控制台或 API", "支援伺服器", "自訂" } },

    { ngx_guildlog_titles_ko,
      { "실행자", "대상", "채널", "역할", "이름", "사유", "개수", "이모지",
        "동작", "값", "첨부 파일", "이전", "이후", "메시지", "외 %ui개",
        "대시보드 또는 API", "지원 서버", "사용자 지정" } },

    { ngx_guildlog_titles_sl,
      { "Izvajalec", "Cilj", "Kanal", "Vloga", "Ime", "Razlog", "Število",
        "Emoji", "Dejanje", "Vrednost", "Priloge", "Prej", "Potem",
        "Sporočila", "in še %ui", "Nadzorna plošča ali API",
        "Strežnik za podporo", "Prilagodi" } },

    { ngx_guildlog_titles_ar,
      { "المنفّذ", "الهدف", "القناة", "الرتبة", "الاسم", "السبب", "العدد",
        "الرمز التعبيري", "الإجراء", "القيمة", "المرفقات", "قبل", "بعد",
        "الرسائل", "و%ui أخرى", "لوحة التحكم أو API", "خادم الدعم",
        "تخصيص" } },

    { ngx_guildlog_titles_hu,
      { "Végrehajtó", "Célpont", "Csatorna", "Rang", "Név", "Indok", "Darab",
        "Emoji", "Művelet", "Érték", "Mellékletek", "Előtte", "Utána",
        "Üzenetek", "és még %ui", "Irányítópult vagy API",
        "Támogatói szerver", "Testreszabás" } },

    { ngx_guildlog_titles_ja,
      { "実行者", "対象", "チャンネル", "ロール", "名前", "理由", "件数",
        "絵文字", "操作", "値", "添付ファイル", "変更前", "変更後",
        "メッセージ", "ほか%ui件", "ダッシュボードまたはAPI",
        "サポートサーバー", "カスタマイズ" } }
};


const char *
ngx_guildlog_title(ngx_uint_t type, ngx_uint_t locale)
{
    const char  *title;

    title = (locale < NGX_GUILDLOG_LOCALES)
            ? ngx_guildlog_locales[locale].titles[type] : NULL;

    return title ? title : ngx_guildlog_titles_en_us[type];
}


const char *
ngx_guildlog_label(ngx_guildlog_label_e label, ngx_uint_t locale)
{
    return ngx_guildlog_locales[locale < NGX_GUILDLOG_LOCALES ? locale : 0]
           .labels[label];
}
